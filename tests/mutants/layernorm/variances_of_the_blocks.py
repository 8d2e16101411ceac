"""Long rows in a loop, each block of which is normalised by a mean and a variance of its own.

Happens when blocks are treated as rows. Right up to 256 columns.
"""
# expect: mismatch, tail, scaled

import torch
import triton
import triton.language as tl


@triton.jit
def layernorm_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, row_stride, column_stride, n_cols, eps, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        mask = columns < n_cols
        n = tl.minimum(n_cols - start, BLOCK_SIZE)
        x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask, other=0.0)
        distance = tl.where(mask, x - tl.sum(x, axis=0) / n, 0.0)
        normal = distance / tl.sqrt(tl.sum(distance * distance, axis=0) / n + eps)
        weight = tl.load(weight_ptr + columns, mask=mask, other=0.0)
        bias = tl.load(bias_ptr + columns, mask=mask, other=0.0)
        tl.store(out_ptr + row * n_cols + columns, normal * weight + bias, mask=mask)


def layernorm(x, weight, bias, eps):
    n_rows, n_cols = x.shape
    out = torch.empty((n_rows, n_cols), dtype=x.dtype, device=x.device)
    layernorm_kernel[(n_rows,)](x, weight, bias, out, *x.stride(), n_cols, eps, BLOCK_SIZE=256)
    return out
