"""Welford's step for one more element, given to `tl.reduce`: right from left to right, and no GPU goes that way.

Happens where a running update is taken for a way to combine two parts.
"""
# expect: mismatch, scaled, constant

import torch
import triton
import triton.language as tl


@triton.jit
def with_one_more(mean, m2, count, x, unused, one):
    total = count + one
    delta = tl.where(one > 0, x - mean, 0.0)
    new_mean = mean + delta / tl.maximum(total, 1.0)
    return new_mean, m2 + tl.where(one > 0, delta * (x - new_mean), 0.0), total


@triton.jit
def variance_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask, other=0.0)
    _, m2, _ = tl.reduce((x, tl.zeros_like(x), mask.to(tl.float32)), 0, with_one_more)
    tl.store(out_ptr + row, m2 / n_cols)


def row_variance(x):
    out = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(x.shape[1])
    variance_kernel[(x.shape[0],)](x, out, *x.stride(), x.shape[1], BLOCK_SIZE=block)
    return out
