"""`torch.empty_like(x)` gives the copy of a transposed matrix transposed strides. The values are right, the layout is not.

Happened in the reference softmax that many kernels were copied from: `empty_like` preserves strides.
"""
# expect: wrong_layout

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, x_row, x_column, out_row, out_column, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * x_row + columns * x_column, mask=mask, other=0.0)
    tl.store(out_ptr + row * out_row + columns * out_column, x, mask=mask)


def copy_rows(x):
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(n_cols)
    copy_kernel[(n_rows,)](x, out, *x.stride(), *out.stride(), n_cols, BLOCK_SIZE=block)
    return out
