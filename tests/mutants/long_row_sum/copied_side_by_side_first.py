"""One kernel copies the rows in small blocks, and another one loads a whole row of the copy at once.

Happens where strides are in the way. The tile is as long as the row all the same, and every element travels three times.
"""
# expect: not_as_asked
# hint: next_power_of_2

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, copy_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask, other=0.0)
    tl.store(copy_ptr + row * n_cols + columns, x, mask=mask)


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    tl.store(out_ptr + row, tl.sum(tl.load(x_ptr + row * n_cols + columns, mask=columns < n_cols, other=0.0), axis=0))


def long_row_sum(x):
    n_rows, n_cols = x.shape
    copy = torch.empty((n_rows, n_cols), dtype=x.dtype, device=x.device)
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    copy_kernel[(n_rows, triton.cdiv(n_cols, 1024))](x, copy, *x.stride(), n_cols, BLOCK_SIZE=1024)
    row_sum_kernel[(n_rows,)](copy, out, n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out
