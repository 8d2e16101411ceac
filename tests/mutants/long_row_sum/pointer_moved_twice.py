"""The pointer moves on by a block in each turn, and the columns begin at `start` as well.

Happens when one of two ways to write a loop is turned into the other, half of it.
"""
# expect: load_out_of_bounds

import torch
import triton
import triton.language as tl


@triton.jit
def long_row_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    x_row = x_ptr + row * row_stride
    total = tl.zeros([BLOCK_SIZE], tl.float32)
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        total += tl.load(x_row + columns * column_stride, mask=columns < n_cols, other=0.0)
        x_row += BLOCK_SIZE * column_stride
    tl.store(out_ptr + row, tl.sum(total, axis=0))


def long_row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    long_row_sum_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=256)
    return out
