"""`torch.empty_like(x)` keeps transposed strides, and the kernel writes as if the result were contiguous.

Happened to softmax kernels on transposed inputs: the elements are right, and each is in another's place.
"""
# expect: wrong_layout

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask, other=0.0)
    tl.store(out_ptr + row * n_cols + columns, x, mask=mask)


def copy_rows(x):
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    copy_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out
