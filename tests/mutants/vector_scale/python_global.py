"""The kernel uses a plain global number, which Triton's interpreter sees and its compiler refuses.

Happens to everyone whose kernel worked in the interpreter first: only a global `tl.constexpr` is part of a kernel.
"""
# expect: does_not_compile
# hint: tl.constexpr

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 256


@triton.jit
def scale_kernel(x_ptr, out_ptr, a, n):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, a * x, mask=mask)


def vector_scale(x, a):
    out = torch.empty_like(x)
    n = x.numel()
    scale_kernel[(triton.cdiv(n, BLOCK_SIZE),)](x, out, a, n)
    return out
