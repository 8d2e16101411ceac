"""Whole blocks without any mask, and a second kernel, one element a program, for what is left."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) + tl.load(y_ptr + offsets))


@triton.jit
def add_one_kernel(x_ptr, y_ptr, out_ptr, start):
    place = start + tl.program_id(0)
    tl.store(out_ptr + place, tl.load(x_ptr + place) + tl.load(y_ptr + place))


def vector_add(x, y):
    out = torch.empty_like(x)
    blocks, rest = divmod(x.numel(), 64)
    if blocks:
        add_kernel[(blocks,)](x, y, out, BLOCK_SIZE=64)
    if rest:
        add_one_kernel[(rest,)](x, y, out, 64 * blocks)
    return out
