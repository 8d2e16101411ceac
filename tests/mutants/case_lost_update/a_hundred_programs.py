"""There are 100 programs at most, and each takes one block."""
# expect: mismatch

import torch
import triton
import triton.language as tl


@triton.jit
def add_at_kernel(index_ptr, values_ptr, out_ptr, m, BLOCK_SIZE: tl.constexpr):
    lanes = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = lanes < m
    index = tl.load(index_ptr + lanes, mask=mask, other=0)
    value = tl.load(values_ptr + lanes, mask=mask, other=0.0)
    tl.atomic_add(out_ptr + index, value, mask=mask)


def case_lost_update(index, values, n):
    m = index.numel()
    out = torch.zeros(n, dtype=values.dtype, device=values.device)
    add_at_kernel[(min(triton.cdiv(m, 64), 100),)](index, values, out, m, BLOCK_SIZE=64)
    return out
