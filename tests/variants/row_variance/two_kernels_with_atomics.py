"""Two kernels over blocks of 1024 columns: one adds up the sums, one the squared distances, both with atomics on zeros."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_sums_kernel(x_ptr, sums_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(1)
    columns = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=0.0)
    tl.atomic_add(sums_ptr + row, tl.sum(x))


@triton.jit
def add_squares_kernel(x_ptr, sums_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(1)
    columns = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mean = tl.load(sums_ptr + row) / n_cols
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=mean)
    tl.atomic_add(out_ptr + row, tl.sum((x - mean) * (x - mean)) / n_cols)


def row_variance(x):
    n_rows, n_cols = x.shape
    sums = torch.zeros(n_rows, device=x.device)
    out = torch.zeros(n_rows, device=x.device)
    grid = (triton.cdiv(n_cols, 1024), n_rows)
    add_sums_kernel[grid](x, sums, *x.stride(), n_cols, BLOCK_SIZE=1024)
    add_squares_kernel[grid](x, sums, out, *x.stride(), n_cols, BLOCK_SIZE=1024)
    return out
