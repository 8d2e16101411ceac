"""The second loop's load has a mask and no `other`, and its spare lanes are squared and added.

Happens because the first loop had both, and the second was written from memory.
"""
# expect: undefined_lanes

import torch
import triton
import triton.language as tl


@triton.jit
def row_variance_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_SIZE)
    total = 0.0
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + lanes
        total += tl.sum(tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=0.0))
    mean = total / n_cols
    squares = 0.0
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + lanes
        distance = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols) - mean
        squares += tl.sum(distance * distance)
    tl.store(out_ptr + row, squares / n_cols)


def row_variance(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_variance_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=256)
    return out
