"""The accumulator is fp16, to be quick.

Happens where inputs are fp16 as well and the tolerance is wide. It keeps three digits, and stops growing at 2048.
"""
# expect: mismatch
# hint: fp16

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=0.0)
    tl.store(out_ptr + row, tl.sum(x.to(tl.float16), axis=0).to(tl.float32))


def row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_sum_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out
