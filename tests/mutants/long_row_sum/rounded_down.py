"""The loop makes `n_cols // BLOCK_SIZE` turns: what does not fill a block is left out.

Happens where all lengths were multiples of the block.
"""
# expect: mismatch, constant
# hint: round up

import torch
import triton
import triton.language as tl


@triton.jit
def long_row_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK_SIZE], tl.float32)
    for step in tl.range(0, n_cols // BLOCK_SIZE):
        columns = step * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        total += tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=0.0)
    tl.store(out_ptr + row, tl.sum(total, axis=0))


def long_row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    long_row_sum_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=128)
    return out
