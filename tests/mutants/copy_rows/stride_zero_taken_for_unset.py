"""`x.stride(0) or n_cols`: a stride of 0 is taken for "not given", and a repeated row is read as if it were many.

Happens because 0 is false in Python. Expanded tensors are rare in tests and common in attention masks.
"""
# expect: load_out_of_bounds

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask, other=0.0)
    tl.store(out_ptr + row * n_cols + columns, x, mask=mask)


def copy_rows(x):
    n_rows, n_cols = x.shape
    row_stride = x.stride(0) or n_cols
    column_stride = x.stride(1) or 1
    out = torch.empty(n_rows, n_cols, dtype=x.dtype, device=x.device)
    copy_kernel[(n_rows,)](x, out, row_stride, column_stride, n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out
