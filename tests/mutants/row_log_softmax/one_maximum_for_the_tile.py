"""Tiles of 4 rows, and one maximum for all of them: rows far below it have log(0).

Happens when `axis` is forgotten in one of two reductions.
"""
# expect: mismatch, nan, first_block_only, tail

import torch
import triton
import triton.language as tl


@triton.jit
def log_softmax_kernel(x_ptr, out_ptr, x_row, x_column, out_row, out_column, n_rows, n_cols, BLOCK_SIZE: tl.constexpr):
    rows = tl.program_id(0) * 4 + tl.arange(0, 4)[:, None]
    columns = tl.arange(0, BLOCK_SIZE)[None, :]
    mask = (rows < n_rows) & (columns < n_cols)
    x = tl.load(x_ptr + rows * x_row + columns * x_column, mask=mask, other=-float("inf"))
    x = x - tl.max(x)
    y = x - tl.log(tl.sum(tl.exp(x), axis=1, keep_dims=True))
    tl.store(out_ptr + rows * out_row + columns * out_column, y, mask=mask)


def row_log_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(n_cols)
    log_softmax_kernel[(triton.cdiv(n_rows, 4),)](x, out, *x.stride(), *out.stride(), n_rows, n_cols, BLOCK_SIZE=block)
    return out
