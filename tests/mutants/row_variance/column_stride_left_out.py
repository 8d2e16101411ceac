"""The row's stride is passed, the column's is not: elements are taken to be neighbours.

Happens with tensors that were made by slicing rows; a transposed one gives another variance.
"""
# expect: load_out_of_bounds, mismatch
# hint: both strides

import torch
import triton
import triton.language as tl


@triton.jit
def row_variance_kernel(x_ptr, out_ptr, row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * row_stride + columns, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / n_cols
    distance = tl.where(mask, x - mean, 0.0)
    tl.store(out_ptr + row, tl.sum(distance * distance, axis=0) / n_cols)


def row_variance(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_variance_kernel[(n_rows,)](x, out, x.stride(0), n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out
