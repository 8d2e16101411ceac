"""The factor lies in a tensor of one element, and every program loads it."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, a_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    a = tl.load(a_ptr)
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, a * x, mask=mask)


def vector_scale(x, a):
    out = torch.empty_like(x)
    factor = torch.full((1,), a, dtype=x.dtype, device=x.device)
    scale_kernel[(triton.cdiv(x.numel(), 256),)](x, factor, out, x.numel(), BLOCK_SIZE=256)
    return out
