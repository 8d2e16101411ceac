"""Atomics, as it should be, but on `torch.empty`: they add to whatever was there.

Happens because fresh memory often holds zeros, until a run in which it does not.
"""
# expect: uninitialized
# hint: zeros

import torch
import triton
import triton.language as tl


@triton.jit
def add_block_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=0.0)
    tl.atomic_add(out_ptr + row, tl.sum(x, axis=0))


def row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    add_block_kernel[(n_rows, triton.cdiv(n_cols, 128))](x, out, *x.stride(), n_cols, BLOCK_SIZE=128)
    return out
