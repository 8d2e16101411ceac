"""The first loop's mean is subtracted from `x` in memory, for the second kernel to square.

Happens to those who save a tensor. The caller's `x` is gone.
"""
# expect: input_changed

import torch
import triton
import triton.language as tl


@triton.jit
def centre_kernel(x_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / n_cols
    tl.store(x_ptr + row * row_stride + columns * column_stride, x - mean, mask=mask)


@triton.jit
def squares_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=0.0)
    tl.store(out_ptr + row, tl.sum(x * x, axis=0) / n_cols)


def row_variance(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(n_cols)
    centre_kernel[(n_rows,)](x, *x.stride(), n_cols, BLOCK_SIZE=block)
    squares_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=block)
    return out
