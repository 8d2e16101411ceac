"""One program a row, and its loop keeps the sum in memory: stored and loaded again in each step.

Happens to those who think of a kernel as one thread. It has many, and the load may come before another thread's store.
"""
# expect: read_back
# hint: in a variable

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    tl.store(out_ptr + row, 0.0)
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=0.0)
        tl.store(out_ptr + row, tl.load(out_ptr + row) + tl.sum(x, axis=0))


def row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_sum_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=256)
    return out
