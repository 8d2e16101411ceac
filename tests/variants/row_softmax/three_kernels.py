"""Three kernels with the maxima and sums in memory between them, and a result with x's own strides.

It reads more than it must, but each step is a kernel, and each program writes what is its own.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def maxima_kernel(x_ptr, maxima_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    highest = -float("inf")
    for start in range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=-float("inf"))
        highest = tl.maximum(highest, tl.max(x, axis=0))
    tl.store(maxima_ptr + row, highest)


@triton.jit
def sums_kernel(x_ptr, maxima_ptr, sums_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=-float("inf"))
    # In a row of nothing but −inf the padding is NaN, as the row is: its softmax is NaN.
    tl.atomic_add(sums_ptr + row, tl.sum(tl.exp(x - tl.load(maxima_ptr + row)), axis=0))


@triton.jit
def divide_kernel(x_ptr, maxima_ptr, sums_ptr, out_ptr, x_row, x_column, out_row, out_column, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * x_row + columns * x_column, mask=mask, other=0.0)
    y = tl.exp(x - tl.load(maxima_ptr + row)) / tl.load(sums_ptr + row)
    tl.store(out_ptr + row * out_row + columns * out_column, y, mask=mask)


def row_softmax(x):
    n_rows, n_cols = x.shape
    maxima = torch.empty(n_rows, device=x.device)
    sums = torch.zeros(n_rows, device=x.device)
    out = torch.empty_like(x)
    grid = (n_rows, triton.cdiv(n_cols, 1024))
    maxima_kernel[(n_rows,)](x, maxima, *x.stride(), n_cols, BLOCK_SIZE=1024)
    sums_kernel[grid](x, maxima, sums, *x.stride(), n_cols, BLOCK_SIZE=1024)
    divide_kernel[grid](x, maxima, sums, out, *x.stride(), *out.stride(), n_cols, BLOCK=1024)
    return out
