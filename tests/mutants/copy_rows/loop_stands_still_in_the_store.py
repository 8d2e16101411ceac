"""A loop over a row's blocks moves the load on, and stores every block at the row's beginning.

Happened to readers of a loop in which only one of two pointers was advanced.
"""
# expect: unwritten

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_SIZE)
    for start in range(0, n_cols, BLOCK_SIZE):
        columns = start + lanes
        mask = columns < n_cols
        x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask, other=0.0)
        tl.store(out_ptr + row * n_cols + lanes, x, mask=mask)


def copy_rows(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, n_cols, dtype=x.dtype, device=x.device)
    copy_kernel[(n_rows,)](x, out, x.stride(0), x.stride(1), n_cols, BLOCK_SIZE=32)
    return out
