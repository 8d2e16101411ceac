"""A fixed number of programs, 32, and no loop over rows: the rows beyond them are never written.

Happens when a persistent kernel loses its loop. The tests had few rows.
"""
# expect: unwritten

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = (columns < n_cols) & (row < n_rows)
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask, other=0.0)
    tl.store(out_ptr + row, tl.sum(x, axis=0), mask=row < n_rows)


def row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_sum_kernel[(32,)](x, out, *x.stride(), n_rows, n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out
