"""The result is written column by column: its elements are all there, in the places of the transposed matrix.

Happens when the strides of the result are worked out for the wrong axis; square and symmetric matrices show nothing.
"""
# expect: transposed
# hint: i * n_cols + j

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, row_stride, column_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask, other=0.0)
    tl.store(out_ptr + columns * n_rows + row, x, mask=mask)


def copy_rows(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, n_cols, dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(n_cols)
    copy_kernel[(n_rows,)](x, out, x.stride(0), x.stride(1), n_rows, n_cols, BLOCK_SIZE=block)
    return out
