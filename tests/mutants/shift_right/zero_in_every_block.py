"""The first lane of every block gets the 0.

Happens to those who think of one block: a vector that fits into it comes out right.
"""
# expect: mismatch, periodic
# hint: whole result

import torch
import triton
import triton.language as tl


@triton.jit
def shift_right_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    lanes = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets - 1, mask=mask & (lanes > 0), other=0.0)
    tl.store(out_ptr + offsets, x, mask=mask)


def shift_right(x):
    out = torch.empty_like(x)
    n = x.numel()
    shift_right_kernel[(triton.cdiv(n, 64),)](x, out, n, BLOCK_SIZE=64)
    return out
