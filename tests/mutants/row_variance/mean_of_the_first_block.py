"""The mean is that of the first block, and the distances are those of the whole row.

Happens when the loop for long rows is put around the second half only. Wrong from the second block on.
"""
# expect: mismatch
# hint: whole row

import torch
import triton
import triton.language as tl


@triton.jit
def row_variance_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * row_stride + lanes * column_stride, mask=lanes < n_cols, other=0.0)
    mean = tl.sum(x, axis=0) / min(n_cols, BLOCK_SIZE)
    squares = 0.0
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + lanes
        x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=mean)
        squares += tl.sum((x - mean) * (x - mean), axis=0)
    tl.store(out_ptr + row, squares / n_cols)


def row_variance(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_variance_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=256)
    return out
