"""The row sums as a product with a tile of ones: `tl.dot` adds up. In ieee precision, since tf32 would round."""

import torch
import triton
import triton.language as tl


@triton.jit
def sum_by_dot_kernel(x_ptr, out_ptr, row_stride, column_stride, n_rows, n_cols, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inner = tl.arange(0, COLUMNS)
    ones = tl.full((COLUMNS, 16), 1.0, tl.float32)
    total = tl.zeros((ROWS, 16), tl.float32)
    for start in range(0, n_cols, COLUMNS):
        columns = start + inner
        mask = (rows[:, None] < n_rows) & (columns[None, :] < n_cols)
        x = tl.load(x_ptr + rows[:, None] * row_stride + columns[None, :] * column_stride, mask=mask, other=0.0)
        total = tl.dot(x, ones, total, input_precision="ieee")
    place = tl.arange(0, 16)[None, :]
    tl.store(out_ptr + rows[:, None] + 0 * place, total, mask=(rows[:, None] < n_rows) & (place == 0))


def row_sum(x):
    m, n = x.shape
    out = torch.empty(m, dtype=x.dtype, device=x.device)
    sum_by_dot_kernel[(triton.cdiv(m, 16),)](x, out, x.stride(0), x.stride(1), m, n, ROWS=16, COLUMNS=64)
    return out
