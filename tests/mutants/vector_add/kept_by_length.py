"""A result for each length is kept and handed out again.

Happens where somebody caches what a launcher allocates, and then what it computes.
"""
# expect: no_kernel, computed_outside

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


KEPT = {}


def vector_add(x, y):
    n = x.numel()
    if n not in KEPT:
        KEPT[n] = torch.empty_like(x)
        add_kernel[(triton.cdiv(n, 256),)](x, y, KEPT[n], n, BLOCK_SIZE=256)
    return KEPT[n]
