"""The store is shifted, with a mask that ends in time, and element 0 is written by nobody.

Happens because `torch.empty` often holds zeros.
"""
# expect: unwritten

import torch
import triton
import triton.language as tl


@triton.jit
def shift_right_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets + 1, x, mask=offsets + 1 < n)


def shift_right(x):
    out = torch.empty_like(x)
    n = x.numel()
    shift_right_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK_SIZE=256)
    return out
