"""`torch.empty_like(x)` keeps the strides of a transposed `x`, and the kernel writes as if the result were contiguous.

Happens because both halves look right by themselves.
"""
# expect: mismatch, transposed

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_row, x_column, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * x_row + columns * x_column, mask=mask, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * n_cols + columns, numerator / tl.sum(numerator, axis=0), mask=mask)


def row_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out
