"""`x` moves on from block to block, `y` does not: every block of `x` is added to the first block of `y`.

Happened in puzzles whose inputs were constant: with `y` full of ones, any element of `y` will do.
"""
# expect: first_block_only
# hint: for `y`

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    offsets = tl.program_id(0) * BLOCK_SIZE + lanes
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    y = tl.load(y_ptr + lanes, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def vector_add(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    add_kernel[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK_SIZE=256)
    return out
