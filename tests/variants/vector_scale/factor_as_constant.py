"""The factor is a `tl.constexpr`: compiled again for every factor, and right."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, FACTOR: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x * FACTOR, mask=mask)


def vector_scale(x, a):
    out = x.new_empty(x.shape)
    scale_kernel[(triton.cdiv(x.numel(), 16),)](x, out, x.numel(), FACTOR=a, BLOCK_SIZE=16)
    return out
