"""One kernel leaves a number for each row in memory, the logarithm of its sum; another one subtracts it."""

import torch
import triton
import triton.language as tl


@triton.jit
def log_sums_kernel(x_ptr, sums_ptr, x_row, x_column, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * x_row + columns * x_column, mask=columns < n_cols, other=-float("inf"))
    highest = tl.max(x, axis=0)
    tl.store(sums_ptr + row, highest + tl.log(tl.sum(tl.exp(x - highest), axis=0)))


@triton.jit
def subtract_kernel(x_ptr, sums_ptr, out_ptr, x_row, x_column, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * x_row + columns * x_column, mask=mask, other=0.0)
    tl.store(out_ptr + row * n_cols + columns, x - tl.load(sums_ptr + row), mask=mask)


def row_log_softmax(x):
    n_rows, n_cols = x.shape
    sums = torch.empty(n_rows, device=x.device)
    out = torch.empty(x.shape, device=x.device)
    log_sums_kernel[(n_rows,)](x, sums, *x.stride(), n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    subtract_kernel[(n_rows, triton.cdiv(n_cols, 128))](x, sums, out, *x.stride(), n_cols, BLOCK_SIZE=128)
    return out
