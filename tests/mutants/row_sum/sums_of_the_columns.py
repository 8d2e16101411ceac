"""The other axis: the sum of each column.

Happens because `axis=0` means the rows' direction in one place and the first index in another.
"""
# expect: wrong_shape

import torch
import triton
import triton.language as tl


@triton.jit
def column_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, n_rows, BLOCK_SIZE: tl.constexpr):
    column = tl.program_id(0)
    rows = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + rows * row_stride + column * column_stride, mask=rows < n_rows, other=0.0)
    tl.store(out_ptr + column, tl.sum(x, axis=0))


def row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_cols, dtype=x.dtype, device=x.device)
    column_sum_kernel[(n_cols,)](x, out, *x.stride(), n_rows, BLOCK_SIZE=triton.next_power_of_2(max(n_rows, 1)))
    return out
