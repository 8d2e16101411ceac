"""A tile of 8 rows and `tl.max` without an axis: one number for all of them.

Happens because `axis` has a default, all of them. Each row gets the maximum of its neighbours.
"""
# expect: mismatch, constant, periodic

import torch
import triton
import triton.language as tl


@triton.jit
def row_max_kernel(x_ptr, out_ptr, row_stride, column_stride, n_rows, n_cols, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    mask = (rows[:, None] < n_rows) & (columns[None, :] < n_cols)
    pointers = x_ptr + rows[:, None] * row_stride + columns[None, :] * column_stride
    x = tl.load(pointers, mask=mask, other=-float("inf"))
    tl.store(out_ptr + rows, tl.max(x), mask=rows < n_rows)


def row_max(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(n_rows, 8),)
    row_max_kernel[grid](x, out, *x.stride(), n_rows, n_cols, ROWS=8, COLUMNS=triton.next_power_of_2(n_cols))
    return out
