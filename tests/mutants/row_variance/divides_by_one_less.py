"""The sample variance: divided by n − 1.

Happens because it is what `torch.var` computes unless it is told otherwise.
"""
# expect: scaled
# hint: one less

import torch
import triton
import triton.language as tl


@triton.jit
def row_variance_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / n_cols
    distance = tl.where(mask, x - mean, 0.0)
    tl.store(out_ptr + row, tl.sum(distance * distance, axis=0) / tl.maximum(n_cols - 1, 1))


def row_variance(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_variance_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out
