"""The block is longer than the row, and nothing masks the load: it reads on into the next row, and past the last.

Happens where the test rows are all powers of two.
"""
# expect: load_out_of_bounds

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * row_stride + columns * column_stride)
    tl.store(out_ptr + row, tl.sum(x, axis=0))


def row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_sum_kernel[(n_rows,)](x, out, x.stride(0), x.stride(1), BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out
