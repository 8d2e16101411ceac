"""A grid of at most 64 programs, and no loop: enough for every size that was tried.

Happens when a persistent kernel loses its loop.
"""
# expect: unwritten

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def vector_add(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    add_kernel[(min(triton.cdiv(n, 1024), 64),)](x, y, out, n, BLOCK_SIZE=1024)
    return out
