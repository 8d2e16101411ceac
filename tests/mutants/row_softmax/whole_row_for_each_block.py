"""A program for each 64 columns, and each goes over the whole row for its maximum and its sum: right, and read many times.

Happens when a kernel gets a second grid axis to be faster. A row of 2048 columns is read 33 times.
"""
# expect: too_much_traffic

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_row, x_column, out_row, out_column, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * x_row + columns * x_column, mask=columns < n_cols, other=-float("inf"))
    highest = tl.max(x, axis=0)
    total = tl.sum(tl.exp(x - highest), axis=0)
    mine = tl.program_id(1) * 64 + tl.arange(0, 64)
    y = tl.exp(tl.load(x_ptr + row * x_row + mine * x_column, mask=mine < n_cols, other=0.0) - highest) / total
    tl.store(out_ptr + row * out_row + mine * out_column, y, mask=mine < n_cols)


def row_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(n_cols)
    softmax_kernel[(n_rows, triton.cdiv(n_cols, 64))](x, out, *x.stride(), *out.stride(), n_cols, BLOCK_SIZE=block)
    return out
