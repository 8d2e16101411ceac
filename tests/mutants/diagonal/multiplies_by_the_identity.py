"""Reads a whole row and multiplies it by a row of the identity: the lanes past the end have no value, and anything times
zero is not always zero.

Happened to masked loads that fed a sum: NaN · 0 is NaN, and it comes and goes with what memory held before.
"""
# expect: undefined_lanes
# hint: other=

import torch
import triton
import triton.language as tl


@triton.jit
def diagonal_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols)
    tl.store(out_ptr + row, tl.sum(x * (columns == row), axis=0))


def diagonal(x):
    n = min(x.shape)
    out = torch.empty(n, dtype=x.dtype, device=x.device)
    diagonal_kernel[(n,)](x, out, *x.stride(), x.shape[1], BLOCK_SIZE=triton.next_power_of_2(x.shape[1]))
    return out
