"""`tl.where` chooses among values that were loaded already: the load itself has no mask.

Happens to those who read `where` as an `if`. The sum is right, and the memory that was touched is not the tensor's.
"""
# expect: load_out_of_bounds

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    x = tl.where(columns < n_cols, tl.load(x_ptr + row * row_stride + columns * column_stride), 0.0)
    tl.store(out_ptr + row, tl.sum(x, axis=0))


def row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_sum_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out
