"""torch copies `y`, and the kernel adds `x` to the copy, in place; where there is nothing to add the copy is empty."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_to_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    so_far = tl.load(out_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, so_far + tl.load(x_ptr + offsets, mask=mask), mask=mask)


def vector_add(x, y):
    out = y.clone()
    add_to_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK_SIZE=256)
    return out.unsqueeze_(0).squeeze_(0)
