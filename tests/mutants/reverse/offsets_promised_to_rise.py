"""Offsets that count down are said to be contiguous. They are neighbours, and in the other order.

Happens to those who take "contiguous" for "side by side". On a GPU a block of four is then loaded from front to back.
"""
# expect: false_promise

import torch
import triton
import triton.language as tl


@triton.jit
def reverse_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    back = tl.max_contiguous(n - 1 - offsets, BLOCK_SIZE)
    tl.store(out_ptr + offsets, tl.load(x_ptr + back, mask=mask), mask=mask)


def reverse(x):
    out = torch.empty_like(x)
    n = x.numel()
    reverse_kernel[(triton.cdiv(n, 128),)](x, out, n, BLOCK_SIZE=128)
    return out
