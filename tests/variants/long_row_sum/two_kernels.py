"""Programs store the sums of their blocks; a second kernel adds these up."""

import torch
import triton
import triton.language as tl


@triton.jit
def block_sums_kernel(x_ptr, sums_ptr, row_stride, column_stride, n_cols, n_blocks, BLOCK_SIZE: tl.constexpr):
    row, block = tl.program_id(0), tl.program_id(1)
    columns = block * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=0.0)
    tl.store(sums_ptr + row * n_blocks + block, tl.sum(x, axis=0))


@triton.jit
def add_up_kernel(sums_ptr, out_ptr, n_blocks, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    blocks = tl.arange(0, BLOCK_SIZE)
    sums = tl.load(sums_ptr + row * n_blocks + blocks, mask=blocks < n_blocks, other=0.0)
    tl.store(out_ptr + row, tl.sum(sums, axis=0))


def long_row_sum(x):
    n_rows, n_cols = x.shape
    n_blocks = triton.cdiv(n_cols, 2048)
    sums = torch.empty((n_rows, n_blocks), dtype=x.dtype, device=x.device)
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    block_sums_kernel[(n_rows, n_blocks)](x, sums, *x.stride(), n_cols, n_blocks, BLOCK_SIZE=2048)
    add_up_kernel[(n_rows,)](sums, out, n_blocks, BLOCK_SIZE=triton.next_power_of_2(n_blocks))
    return out
