"""Each block's distances are taken from the mean of that block: what lies between the blocks' means is missing.

Happens when blocks are treated as rows. Wrong from the second block on, and only a little for wide rows.
"""
# expect: mismatch

import torch
import triton
import triton.language as tl


@triton.jit
def row_variance_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    squares = 0.0
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        mask = columns < n_cols
        x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask, other=0.0)
        mean = tl.sum(x, axis=0) / min(n_cols - start, BLOCK_SIZE)
        distance = tl.where(mask, x - mean, 0.0)
        squares += tl.sum(distance * distance, axis=0)
    tl.store(out_ptr + row, squares / n_cols)


def row_variance(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_variance_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=256)
    return out
