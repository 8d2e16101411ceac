"""A softmax of each column: dim 0 instead of −1. The entries still add up to 1, in the other direction.

Happens when strides are exchanged in the call.
"""
# expect: mismatch

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_row, x_column, out_row, out_column, n_rows, BLOCK_SIZE: tl.constexpr):
    column = tl.program_id(0)
    rows = tl.arange(0, BLOCK_SIZE)
    mask = rows < n_rows
    x = tl.load(x_ptr + rows * x_row + column * x_column, mask=mask, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + rows * out_row + column * out_column, numerator / tl.sum(numerator, axis=0), mask=mask)


def row_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(max(n_rows, 1))
    softmax_kernel[(n_cols,)](x, out, *x.stride(), *out.stride(), n_rows, BLOCK_SIZE=block)
    return out
