"""Zeros. For wide rows every entry is small, and a tolerance of 1e-2 lets them pass.

Happened in a public benchmark of generated kernels.
"""
# expect: constant

import torch
import triton
import triton.language as tl


@triton.jit
def zeros_kernel(out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    tl.store(out_ptr + offsets, tl.zeros((BLOCK_SIZE,), tl.float32), mask=offsets < n)


def row_softmax(x):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    zeros_kernel[(triton.cdiv(x.numel(), 1024),)](out, x.numel(), BLOCK_SIZE=1024)
    return out
