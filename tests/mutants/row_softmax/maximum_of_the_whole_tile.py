"""Tiles of 8 rows, and one maximum for all of them: rows far below the largest have nothing but zeros to divide.

Happens when `axis` is forgotten in one of two reductions.
"""
# expect: nan

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_row, x_column, out_row, out_column, n_rows, n_cols, BLOCK_SIZE: tl.constexpr):
    rows = tl.program_id(0) * 8 + tl.arange(0, 8)[:, None]
    columns = tl.arange(0, BLOCK_SIZE)[None, :]
    mask = (rows < n_rows) & (columns < n_cols)
    x = tl.load(x_ptr + rows * x_row + columns * x_column, mask=mask, other=-float("inf"))
    numerator = tl.where(mask, tl.exp(x - tl.max(x)), 0.0)
    total = tl.where(rows < n_rows, tl.sum(numerator, axis=1, keep_dims=True), 1.0)
    tl.store(out_ptr + rows * out_row + columns * out_column, numerator / total, mask=mask)


def row_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(n_cols)
    grid = (triton.cdiv(n_rows, 8),)
    softmax_kernel[grid](x, out, *x.stride(), *out.stride(), n_rows, n_cols, BLOCK_SIZE=block)
    return out
