"""The elements are moved within `x` itself: a program reads what another one has already moved on.

Happens to those who save the second tensor.
"""
# expect: race, input_changed

import torch
import triton
import triton.language as tl


@triton.jit
def shift_right_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets - 1, mask=mask & (offsets > 0), other=0.0)
    tl.store(out_ptr + offsets, x, mask=mask)


def shift_right(x):
    out = x
    n = x.numel()
    shift_right_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK_SIZE=256)
    return out
