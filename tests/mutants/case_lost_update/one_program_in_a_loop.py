"""One program for all, in a loop: blocks come one after another, and within a block two lanes still meet."""
# expect: overtaken_load, write_twice, read_back, mismatch

import torch
import triton
import triton.language as tl


@triton.jit
def add_at_kernel(index_ptr, values_ptr, out_ptr, m, BLOCK_SIZE: tl.constexpr):
    for start in tl.range(0, m, BLOCK_SIZE):
        lanes = start + tl.arange(0, BLOCK_SIZE)
        mask = lanes < m
        index = tl.load(index_ptr + lanes, mask=mask, other=0)
        value = tl.load(values_ptr + lanes, mask=mask, other=0.0)
        so_far = tl.load(out_ptr + index, mask=mask, other=0.0)
        tl.store(out_ptr + index, so_far + value, mask=mask)
        tl.debug_barrier()


def case_lost_update(index, values, n):
    m = index.numel()
    out = torch.zeros(n, dtype=values.dtype, device=values.device)
    add_at_kernel[(1,)](index, values, out, m, BLOCK_SIZE=64)
    return out
