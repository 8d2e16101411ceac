"""The last block has `n_cols % BLOCK_SIZE` columns, which is 0 when the row fits exactly: then a whole block is lost.

Happens to those who treat the last block by itself. Wrong at 64, 128, 192, … and nowhere else.
A row of one block sums up to 0; where longer ones are among the cases, there is no such pattern.
"""
# expect: constant, mismatch

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    begin = x_ptr + tl.program_id(0) * row_stride
    lanes = tl.arange(0, BLOCK_SIZE)
    steps = tl.cdiv(n_cols, BLOCK_SIZE)
    total = 0.0
    for step in tl.range(0, steps - 1):
        total += tl.sum(tl.load(begin + (step * BLOCK_SIZE + lanes) * column_stride))
    columns = (steps - 1) * BLOCK_SIZE + lanes
    total += tl.sum(tl.load(begin + columns * column_stride, mask=lanes < n_cols % BLOCK_SIZE, other=0.0))
    tl.store(out_ptr + tl.program_id(0), total)


def row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_sum_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=64)
    return out
