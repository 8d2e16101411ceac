"""The block size is a global `tl.constexpr`, and the arithmetic stands in a helper with `@triton.jit`."""

import torch
import triton
import triton.language as tl

BLOCK = tl.constexpr(512)


@triton.jit
def scaled(x, a):
    return a * x


@triton.jit
def scale_kernel(x_ptr, out_ptr, a, n):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out_ptr + offsets, scaled(tl.load(x_ptr + offsets, mask=inside), a), mask=inside)


def vector_scale(x, a):
    out = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 512),)](x, out, a, x.numel(), num_warps=8, num_stages=2)
    return out
