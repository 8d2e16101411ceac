"""Tiles of 16 × 32 on a grid of two axes."""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, row_stride, column_stride, n_rows, n_cols, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    mask = (rows < n_rows) & (columns < n_cols)
    x = tl.load(x_ptr + rows * row_stride + columns * column_stride, mask=mask, other=0.0)
    tl.store(out_ptr + rows * n_cols + columns, x, mask=mask)


def copy_rows(x):
    m, n = x.shape
    out = x.new_empty((m, n))
    grid = (triton.cdiv(m, 16), triton.cdiv(n, 32))
    copy_kernel[grid](x, out, x.stride(0), x.stride(1), m, n, ROWS=16, COLUMNS=32)
    return out
