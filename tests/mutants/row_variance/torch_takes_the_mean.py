"""The mean comes from torch, and the kernel does the rest.

Happens to those who found the second half hard enough.
"""
# expect: torch_compute

import torch
import triton
import triton.language as tl


@triton.jit
def squares_kernel(x_ptr, mean_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask, other=0.0)
    distance = tl.where(mask, x - tl.load(mean_ptr + row), 0.0)
    tl.store(out_ptr + row, tl.sum(distance * distance, axis=0) / n_cols)


def row_variance(x):
    n_rows, n_cols = x.shape
    mean = x.mean(dim=1)
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    squares_kernel[(n_rows,)](x, mean, out, *x.stride(), n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out
