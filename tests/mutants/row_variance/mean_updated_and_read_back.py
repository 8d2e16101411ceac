"""Each program adds its row up with atomics, and loads the sum again: a thread may load before another one has added."""
# expect: read_back

import torch
import triton
import triton.language as tl


@triton.jit
def variance_kernel(x_ptr, sum_ptr, out_ptr, n_cols, row_stride, column_stride, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    for start in range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=0.0)
        tl.atomic_add(sum_ptr + row, tl.sum(x))
    mean = tl.load(sum_ptr + row) / n_cols
    total = 0.0
    for start in range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=0.0)
        distance = tl.where(columns < n_cols, x - mean, 0.0)
        total += tl.sum(distance * distance)
    tl.store(out_ptr + row, total / n_cols)


def row_variance(x):
    n_rows, n_cols = x.shape
    sums = torch.zeros(n_rows, dtype=x.dtype, device=x.device)
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    variance_kernel[(n_rows,)](x, sums, out, n_cols, x.stride(0), x.stride(1), BLOCK_SIZE=128)
    return out
