"""A row is taken to begin at `row * n_cols`, with its elements side by side: true of contiguous tensors only.

Happens where a kernel was tried on nothing but fresh tensors; a transposed view gives other sums.
"""
# expect: mismatch, load_out_of_bounds
# hint: both strides

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * n_cols + columns, mask=columns < n_cols, other=0.0)
    tl.store(out_ptr + row, tl.sum(x, axis=0))


def row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_sum_kernel[(n_rows,)](x, out, n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out
