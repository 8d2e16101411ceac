"""Whole blocks of 16 columns are copied; what is left over at the end of a row is filled with zeros.

Happened to matrix kernels whose last, partial block was left out: widths of 16 and 512 passed.
"""
# expect: tail

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        whole = columns < n_cols // BLOCK_SIZE * BLOCK_SIZE
        x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=whole, other=0.0)
        tl.store(out_ptr + row * n_cols + columns, x, mask=columns < n_cols)


def copy_rows(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, n_cols, dtype=x.dtype, device=x.device)
    copy_kernel[(n_rows,)](x, out, x.stride(0), x.stride(1), n_cols, BLOCK_SIZE=16)
    return out
