"""Reads in place and stores one further; the first program writes the 0."""

import torch
import triton
import triton.language as tl


@triton.jit
def shift_right_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets + 1, x, mask=offsets + 1 < n)
    if tl.program_id(0) == 0:
        tl.store(out_ptr, 0.0)


def shift_right(x):
    out = torch.empty_like(x)
    n = x.numel()
    shift_right_kernel[(triton.cdiv(n, 128),)](x, out, n, BLOCK_SIZE=128)
    return out
