"""No store mask, and room for the spill behind the last row: each row's padding lands on the next row's beginning.

Happened in a public puzzle: one row after the other, as on one processor, the next row repairs the damage and every value
is right. On a GPU the rows are written in any order.
"""
# expect: race
# hint: columns < n_cols

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=0.0)
    tl.store(out_ptr + row * n_cols + columns, x)


def copy_rows(x):
    n_rows, n_cols = x.shape
    block = triton.next_power_of_2(n_cols)
    buffer = torch.empty(n_rows * n_cols + block, dtype=x.dtype, device=x.device)
    copy_kernel[(n_rows,)](x, buffer, x.stride(0), x.stride(1), n_cols, BLOCK_SIZE=block)
    return buffer[: n_rows * n_cols].view(n_rows, n_cols)
