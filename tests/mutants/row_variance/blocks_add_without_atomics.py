"""Two programs share a row: each adds the squares of its half to the result by loading, adding and storing.

Happens when a kernel is split to be faster. One of the two halves may be lost.
"""
# expect: race

import torch
import triton
import triton.language as tl


@triton.jit
def half_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row, half = tl.program_id(0), tl.program_id(1)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / n_cols
    mine = mask & (columns % 2 == half)
    distance = tl.where(mine, x - mean, 0.0)
    so_far = tl.load(out_ptr + row)
    tl.store(out_ptr + row, so_far + tl.sum(distance * distance, axis=0) / n_cols)


def row_variance(x):
    n_rows, n_cols = x.shape
    out = torch.zeros(n_rows, dtype=x.dtype, device=x.device)
    half_kernel[(n_rows, 2)](x, out, *x.stride(), n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out
