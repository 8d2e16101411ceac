"""Tiles of 16 rows: the loads are masked along both axes, the store along none.

Happens because the sum of a masked row is 0 and looks harmless. It lands behind the end of the result.
"""
# expect: store_out_of_bounds

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, n_rows, n_cols, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS,), tl.float32)
    for start in tl.range(0, n_cols, COLUMNS):
        columns = start + tl.arange(0, COLUMNS)
        mask = (rows[:, None] < n_rows) & (columns[None, :] < n_cols)
        x = tl.load(x_ptr + rows[:, None] * row_stride + columns[None, :] * column_stride, mask=mask, other=0.0)
        total += tl.sum(x, axis=1)
    tl.store(out_ptr + rows, total)


def row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_sum_kernel[(triton.cdiv(n_rows, 16),)](x, out, *x.stride(), n_rows, n_cols, ROWS=16, COLUMNS=64)
    return out
