"""Triton's language by another name, with annotations that are not evaluated, and the block in a class without methods."""

from __future__ import annotations

import torch
import triton
import triton.language as T


class Config:
    BLOCK = 256


@triton.jit
def scale_kernel(x_ptr, out_ptr, a, n, BLOCK: T.constexpr):
    offsets = T.program_id(0) * BLOCK + T.arange(0, BLOCK)
    mask = offsets < n
    T.store(out_ptr + offsets, a * T.load(x_ptr + offsets, mask=mask, other=0.0), mask=mask)


def vector_scale(x: torch.Tensor, a: float) -> torch.Tensor:
    out = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), Config.BLOCK),)](x, out, a, x.numel(), BLOCK=Config.BLOCK)
    return out
