"""The kernel adds `x` to a copy of `y`, and only to its first block: the rest is what torch has copied."""
# expect: unwritten

import torch
import triton
import triton.language as tl


@triton.jit
def add_to_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    so_far = tl.load(out_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, so_far + tl.load(x_ptr + offsets, mask=mask), mask=mask)


def vector_add(x, y):
    out = y.clone()
    add_to_kernel[(1,)](x, out, x.numel(), BLOCK_SIZE=1024)
    return out
