"""`x` is taken for the place of the result: an element is overwritten before its mirror image has been read."""
# expect: race, overtaken_load, read_back, input_changed, write_twice, store_out_of_bounds

import torch
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(x_ptr, out_ptr, x_row, x_column, n_rows, n_cols, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (rows[:, None] < n_rows) & (columns[None, :] < n_cols)
    tile = tl.load(x_ptr + rows[:, None] * x_row + columns[None, :] * x_column, mask=mask, other=0.0)
    tl.store(out_ptr + columns[None, :] * n_rows + rows[:, None], tile, mask=mask)


def transpose(x):
    n_rows, n_cols = x.shape
    out = x.as_strided((n_cols, n_rows), (n_rows, 1))
    grid = (triton.cdiv(n_rows, 32), triton.cdiv(n_cols, 32))
    transpose_kernel[grid](x, out, *x.stride(), n_rows, n_cols, BLOCK=32)
    return out
