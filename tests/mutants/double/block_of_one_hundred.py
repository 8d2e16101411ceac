"""A block of 100 lanes: `tl.arange` takes powers of two only.

Happens to those who make the block fit the data, as one may in CUDA.
"""
# expect: crash
# hint: next_power_of_2

import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, 2.0 * x, mask=mask)


def double(x):
    out = torch.empty_like(x)
    n = x.numel()
    double_kernel[(triton.cdiv(n, 100),)](x, out, n, BLOCK_SIZE=100)
    return out
