"""Atomics with the scope of one thread block, between programs: for others they are none.

Happens where a narrower scope is taken for a faster one.
"""
# expect: race

import torch
import triton
import triton.language as tl


@triton.jit
def add_block_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=0.0)
    tl.atomic_add(out_ptr + row, tl.sum(x, axis=0), scope="cta")


def row_sum(x):
    out = torch.zeros(x.shape[0], dtype=x.dtype, device=x.device)
    add_block_kernel[(x.shape[0], triton.cdiv(x.shape[1], 128))](x, out, *x.stride(), x.shape[1], BLOCK_SIZE=128)
    return out
