"""Tiles of 16 rows and 128 columns: a tile is added to a tile, and summed along its rows at the end."""

import torch
import triton
import triton.language as tl


@triton.jit
def sum_tile_kernel(x_ptr, out_ptr, row_stride, column_stride, n_rows, n_cols, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    row_mask = rows < n_rows
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, n_cols, COLUMNS):
        columns = start + tl.arange(0, COLUMNS)
        mask = row_mask[:, None] & (columns < n_cols)[None, :]
        pointers = x_ptr + rows[:, None] * row_stride + columns[None, :] * column_stride
        total += tl.load(pointers, mask=mask, other=0.0)
    tl.store(out_ptr + rows, tl.sum(total, axis=1), mask=row_mask)


def row_sum(x):
    out = x.new_empty(x.shape[0])
    grid = lambda meta: (triton.cdiv(x.shape[0], meta["ROWS"]),)
    sum_tile_kernel[grid](x, out, x.stride(0), x.stride(1), x.shape[0], x.shape[1], ROWS=16, COLUMNS=128)
    return out
