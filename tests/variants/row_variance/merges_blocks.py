"""One pass: each block has a mean and a sum of squared distances, and is merged into those of the blocks before it.

The rule is Chan, Golub and LeVeque's: the sum of squares grows by the block's own and by delta² · n_a · n_b / (n_a + n_b).
"""

import torch
import triton
import triton.language as tl


@triton.jit
def row_variance_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    count, mean, squares = 0.0, 0.0, 0.0
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        mask = columns < n_cols
        x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask, other=0.0)
        here = tl.sum(mask.to(tl.float32))
        mean_here = tl.sum(x) / here
        distance = tl.where(mask, x - mean_here, 0.0)
        delta = mean_here - mean
        squares += tl.sum(distance * distance) + delta * delta * count * here / (count + here)
        mean += delta * here / (count + here)
        count += here
    tl.store(out_ptr + row, squares / count)


def row_variance(x):
    out = x.new_empty(x.shape[:1])
    row_variance_kernel[(x.shape[0],)](x, out, x.stride(0), x.stride(1), x.shape[1], BLOCK_SIZE=128)
    return out
