"""One value a program: no two lanes meet, but programs do."""
# expect: race, overtaken_load
# hint: one step

import torch
import triton
import triton.language as tl


@triton.jit
def add_at_kernel(index_ptr, values_ptr, out_ptr, m, BLOCK_SIZE: tl.constexpr):
    lanes = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = lanes < m
    index = tl.load(index_ptr + lanes, mask=mask, other=0)
    value = tl.load(values_ptr + lanes, mask=mask, other=0.0)
    so_far = tl.load(out_ptr + index, mask=mask, other=0.0)
    tl.store(out_ptr + index, so_far + value, mask=mask)


def case_lost_update(index, values, n):
    m = index.numel()
    out = torch.zeros(n, dtype=values.dtype, device=values.device)
    add_at_kernel[(triton.cdiv(m, 1),)](index, values, out, m, BLOCK_SIZE=1)
    return out
