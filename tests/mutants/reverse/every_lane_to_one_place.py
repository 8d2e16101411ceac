"""The offsets of the store are whole blocks: all lanes of a block write to its first element.

Happens where `tl.arange` is forgotten on one side.
"""
# expect: write_twice

import torch
import triton
import triton.language as tl


@triton.jit
def reverse_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + n - 1 - offsets, mask=mask)
    tl.store(out_ptr + (offsets // BLOCK_SIZE) * BLOCK_SIZE, x, mask=mask)


def reverse(x):
    out = torch.empty_like(x)
    reverse_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK_SIZE=64)
    return out
