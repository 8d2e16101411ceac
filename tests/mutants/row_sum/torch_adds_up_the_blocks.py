"""The kernel sums blocks, and torch sums the blocks' sums.

Happens to those who leave the last step of a reduction to somebody else.
"""
# expect: torch_compute

import torch
import triton
import triton.language as tl


@triton.jit
def block_sums_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, n_blocks, BLOCK_SIZE: tl.constexpr):
    row, block = tl.program_id(0), tl.program_id(1)
    columns = block * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=0.0)
    tl.store(out_ptr + row * n_blocks + block, tl.sum(x, axis=0))


def row_sum(x):
    n_rows, n_cols = x.shape
    n_blocks = triton.cdiv(n_cols, 128)
    partial = torch.empty((n_rows, n_blocks), dtype=x.dtype, device=x.device)
    block_sums_kernel[(n_rows, n_blocks)](x, partial, *x.stride(), n_cols, n_blocks, BLOCK_SIZE=128)
    return partial.sum(dim=1)
