"""A `while` whose `start` is never increased.

Happens when a `for` is turned into a `while`.
"""
# expect: timeout

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    start = 0
    while start < n_cols:
        columns = start + tl.arange(0, BLOCK_SIZE)
        total += tl.sum(tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=0.0))
    tl.store(out_ptr + row, total)


def row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_sum_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=64)
    return out
