"""Blocks are merged as though the ones before them were one block of the same size: half of each mean.

Happens with the rule for two equal halves, used a third time. Right for one block.
"""
# expect: mismatch

import torch
import triton
import triton.language as tl


@triton.jit
def row_variance_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    mean, squares = 0.0, 0.0
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        mask = columns < n_cols
        x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask, other=0.0)
        here = tl.sum(mask.to(tl.float32), axis=0)
        mean_here = tl.sum(x, axis=0) / here
        distance = tl.where(mask, x - mean_here, 0.0)
        delta = mean_here - mean
        squares += tl.sum(distance * distance, axis=0) + tl.where(start > 0, delta * delta * here / 2, 0.0)
        mean = tl.where(start > 0, (mean + mean_here) / 2, mean_here)
    tl.store(out_ptr + row, squares / n_cols)


def row_variance(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_variance_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=256)
    return out
