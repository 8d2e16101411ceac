"""Stores by the strides of x into a result that has its own: right for every contiguous matrix.

Happens to those who compute the offsets once, for load and store.
"""
# expect: race, store_out_of_bounds
# hint: strides of its own

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    offsets = tl.program_id(0) * row_stride + columns * column_stride
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask, other=0.0), mask=mask)


def copy_rows(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, n_cols, dtype=x.dtype, device=x.device)
    copy_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out
