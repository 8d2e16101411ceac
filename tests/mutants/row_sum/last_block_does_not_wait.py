"""The last block of a row adds up what the others have left, without waiting for them.

Happens where programs are thought to run in the order of their numbers.
"""
# expect: program_order

import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, parts_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row, block = tl.program_id(0), tl.program_id(1)
    columns = block * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=0.0)
    so_far = tl.atomic_add(parts_ptr + row, tl.sum(x, axis=0))
    if block == tl.num_programs(1) - 1:
        tl.store(out_ptr + row, so_far + tl.sum(x, axis=0))


def row_sum(x):
    parts = torch.zeros(x.shape[0], dtype=x.dtype, device=x.device)
    out = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    grid = (x.shape[0], triton.cdiv(x.shape[1], 64))
    sum_kernel[grid](x, parts, out, *x.stride(), x.shape[1], BLOCK_SIZE=64)
    return out
