"""Loads a whole block from the one-element tensor that holds `a`: right in lane 0, foreign memory in all others.

Happens to those who pass a number as a tensor and then treat every tensor alike.
"""
# expect: load_out_of_bounds
# hint: the n of that tensor

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, a_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    a = tl.load(a_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, a * x, mask=mask)


def vector_scale(x, a):
    out = torch.empty_like(x)
    n = x.numel()
    factor = torch.full((1,), a, dtype=x.dtype, device=x.device)
    scale_kernel[(triton.cdiv(n, 256),)](x, factor, out, n, BLOCK_SIZE=256)
    return out
