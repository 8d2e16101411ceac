"""The mean of squares minus the square of the mean, which is fine once the row's first element is subtracted from all."""

import torch
import triton
import triton.language as tl


@triton.jit
def row_variance_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    begin = x_ptr + tl.program_id(0) * row_stride
    first = tl.load(begin)
    total = 0.0
    squares = 0.0
    for start in range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(begin + columns * column_stride, mask=columns < n_cols, other=first) - first
        total += tl.sum(x)
        squares += tl.sum(x * x)
    mean = total / n_cols
    tl.store(out_ptr + tl.program_id(0), squares / n_cols - mean * mean)


def row_variance(x):
    out = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    row_variance_kernel[(x.shape[0],)](x, out, x.stride(0), x.stride(1), x.shape[1], BLOCK_SIZE=512)
    return out
