"""The sum so far is stored and loaded again in each turn.

Happens to those who think of a program as one thread.
"""
# expect: read_back
# hint: in a variable

import torch
import triton
import triton.language as tl


@triton.jit
def long_row_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    tl.store(out_ptr + row, 0.0)
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        tl.store(
            out_ptr + row,
            tl.load(out_ptr + row)
            + tl.sum(tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=0.0), axis=0),
        )


def long_row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    long_row_sum_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=512)
    return out
