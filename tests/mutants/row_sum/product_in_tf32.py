"""A product with ones, in the precision that `tl.dot` has unless told otherwise: tf32 keeps 11 binary digits.

Happens wherever tensor cores are used for sums.
"""
# expect: mismatch, scaled

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, n_rows, n_cols, ROWS: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    ones = tl.full((BLOCK_SIZE, 16), 1.0, tl.float32)
    total = tl.zeros((ROWS, 16), tl.float32)
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        mask = (rows[:, None] < n_rows) & (columns[None, :] < n_cols)
        x = tl.load(x_ptr + rows[:, None] * row_stride + columns[None, :] * column_stride, mask=mask, other=0.0)
        total = tl.dot(x, ones, total)
    tl.store(out_ptr + rows, tl.max(total, axis=1), mask=rows < n_rows)


def row_sum(x):
    out = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    row_sum_kernel[(triton.cdiv(x.shape[0], 16),)](x, out, *x.stride(), *x.shape, ROWS=16, BLOCK_SIZE=32)
    return out
