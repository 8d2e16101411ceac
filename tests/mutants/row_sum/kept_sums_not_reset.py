"""Sums are collected in memory that is kept for the next call, and was set to zero once: a second call adds to the first one's."""
# expect: computed_outside

import torch
import triton
import triton.language as tl

kept = {}


@triton.jit
def add_kernel(x_ptr, sums_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row, block = tl.program_id(0), tl.program_id(1)
    columns = block * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=0.0)
    tl.atomic_add(sums_ptr + row, tl.sum(x))


@triton.jit
def copy_kernel(sums_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    tl.store(out_ptr + offsets, tl.load(sums_ptr + offsets, mask=offsets < n, other=0.0), mask=offsets < n)


def row_sum(x):
    n_rows, n_cols = x.shape
    if x.shape not in kept:
        kept[x.shape] = torch.zeros(n_rows, dtype=x.dtype, device=x.device)
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    add_kernel[(n_rows, triton.cdiv(n_cols, 64))](x, kept[x.shape], x.stride(0), x.stride(1), n_cols, BLOCK_SIZE=64)
    copy_kernel[(triton.cdiv(n_rows, 64),)](kept[x.shape], out, n_rows, BLOCK_SIZE=64)
    return out
