"""A program for each block of 64 columns, and each block gets a softmax of its own: the sum of a long row is not 1.

Happens when a kernel for short rows is given a second grid axis.
"""
# expect: mismatch, tail

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_row, x_column, out_row, out_column, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * x_row + columns * x_column, mask=mask, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * out_row + columns * out_column, numerator / tl.sum(numerator, axis=0), mask=mask)


def row_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    grid = (n_rows, triton.cdiv(n_cols, 64))
    softmax_kernel[grid](x, out, *x.stride(), *out.stride(), n_cols, BLOCK_SIZE=64)
    return out
