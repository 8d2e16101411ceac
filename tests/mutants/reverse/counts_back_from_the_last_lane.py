"""Counts back from the end of the last block instead of the end of the vector; the padding has a value, 0.

Happens where lengths are multiples of the block in every test. With one element less, zeros come first and all is shifted.
"""
# expect: shifted

import torch
import triton
import triton.language as tl


@triton.jit
def reverse_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    places = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    offsets = tl.num_programs(0) * BLOCK_SIZE - 1 - places
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + places, x, mask=places < n)


def reverse(x):
    out = torch.empty_like(x)
    n = x.numel()
    reverse_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK_SIZE=256)
    return out
