"""Tiles of 4 rows, and `n_rows // 4` programs: the rows of the last, partial tile are never written.

Happens with a division that rounds down.
"""
# expect: unwritten
# hint: rounds up

import torch
import triton
import triton.language as tl


@triton.jit
def row_variance_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    mask = (columns < n_cols)[None, :]
    x = tl.load(x_ptr + rows[:, None] * row_stride + columns[None, :] * column_stride, mask=mask, other=0.0)
    mean = tl.sum(x, axis=1) / n_cols
    distance = tl.where(mask, x - mean[:, None], 0.0)
    tl.store(out_ptr + rows, tl.sum(distance * distance, axis=1) / n_cols)


def row_variance(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_variance_kernel[(n_rows // 4,)](x, out, *x.stride(), n_cols, ROWS=4, COLUMNS=triton.next_power_of_2(n_cols))
    return out
