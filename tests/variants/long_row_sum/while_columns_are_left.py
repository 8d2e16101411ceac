"""A `while` loop that moves the pointer on."""

import torch
import triton
import triton.language as tl


@triton.jit
def long_row_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_SIZE)
    pointers = x_ptr + row * row_stride + lanes * column_stride
    total = tl.zeros([BLOCK_SIZE], tl.float32)
    left = n_cols
    while left > 0:
        total += tl.load(pointers, mask=lanes < left, other=0.0)
        pointers += BLOCK_SIZE * column_stride
        left -= BLOCK_SIZE
    tl.store(out_ptr + row, tl.sum(total, axis=0))


def long_row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    long_row_sum_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=512)
    return out
