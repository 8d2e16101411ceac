"""Sums are added atomically to `torch.zeros(m)`, which names no device, only a dtype.

Happens when the launcher is written on a machine without a GPU: there, nothing is missing.
"""
# expect: cpu_tensor

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, n_cols, row_stride, col_stride, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    values = tl.load(x_ptr + row * row_stride + columns * col_stride, mask=columns < n_cols, other=0.0)
    tl.atomic_add(out_ptr + row, tl.sum(values, axis=0))


def row_sum(x):
    m, n = x.shape
    out = torch.zeros(m, dtype=torch.float32)
    if m:
        row_sum_kernel[(m, triton.cdiv(n, 256))](x, out, n, x.stride(0), x.stride(1), BLOCK_SIZE=256)
    return out
