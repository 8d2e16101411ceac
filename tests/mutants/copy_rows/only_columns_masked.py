"""Tiles of 4 rows and 16 columns; the columns have a mask, the rows have none.

Happens when a kernel of one dimension grows a second one.
"""
# expect: load_out_of_bounds
# hint: bound missing

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, row_stride, column_stride, n_rows, n_cols, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    mask = (columns < n_cols) & (rows >= 0)
    x = tl.load(x_ptr + rows * row_stride + columns * column_stride, mask=mask, other=0.0)
    tl.store(out_ptr + rows * n_cols + columns, x, mask=mask)


def copy_rows(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, n_cols, dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(n_rows, 4), triton.cdiv(n_cols, 16))
    copy_kernel[grid](x, out, *x.stride(), n_rows, n_cols, ROWS=4, COLUMNS=16)
    return out
