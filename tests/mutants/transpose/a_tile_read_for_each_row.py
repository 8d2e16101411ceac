"""For each column of its tile, the program loads the whole tile again and picks one column of it."""
# expect: too_much_traffic, mismatch, nan

import torch
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(x_ptr, out_ptr, x_row, x_column, n_rows, n_cols, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.arange(0, BLOCK)
    for start in range(0, n_cols, BLOCK):
        mask = (rows[:, None] < n_rows) & (start + columns[None, :] < n_cols)
        places = x_ptr + rows[:, None] * x_row + (start + columns[None, :]) * x_column
        for step in range(start, min(start + BLOCK, n_cols)):
            tile = tl.load(places, mask=mask, other=0.0)
            column = tl.sum(tl.where(columns[None, :] == step - start, tile, 0.0), axis=1)
            tl.store(out_ptr + step * n_rows + rows, column, mask=rows < n_rows)


def transpose(x):
    n_rows, n_cols = x.shape
    out = torch.empty((n_cols, n_rows), dtype=x.dtype, device=x.device)
    transpose_kernel[(triton.cdiv(n_rows, 16),)](x, out, *x.stride(), n_rows, n_cols, BLOCK=16)
    return out
