"""Loads without a mask: lanes past the end read the last element once more. The store has its mask."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    safe = tl.minimum(offsets, n - 1)
    tl.store(out_ptr + offsets, tl.load(x_ptr + safe) + tl.load(y_ptr + safe), mask=offsets < n)


def vector_add(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    add_kernel[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK_SIZE=256)
    return out
