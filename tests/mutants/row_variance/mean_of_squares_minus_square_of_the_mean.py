"""E[x²] − E[x]² in fp32: right on paper, and off by percents where the mean is 1000.

Happens because it needs one pass only, and inputs for tests have a mean of 0.
"""
# expect: mismatch
# hint: Subtract the mean first

import torch
import triton
import triton.language as tl


@triton.jit
def row_variance_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    total, squares = 0.0, 0.0
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=0.0)
        total += tl.sum(x, axis=0)
        squares += tl.sum(x * x, axis=0)
    mean = total / n_cols
    tl.store(out_ptr + row, squares / n_cols - mean * mean)


def row_variance(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_variance_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=256)
    return out
