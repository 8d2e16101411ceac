"""The mean adds up `n_cols // 128` full blocks and then the rest; where there is none, the last full block is taken for it.

Happens with a loop that ends "one block before the end", tried with lengths that leave a rest.
"""
# expect: mismatch, scaled, tail

import torch
import triton
import triton.language as tl


@triton.jit
def layernorm_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, row_stride, column_stride, n_cols, eps, BLOCK_SIZE: tl.constexpr):
    x_ptr += tl.program_id(0) * row_stride
    out_ptr += tl.program_id(0) * n_cols
    lanes = tl.arange(0, BLOCK_SIZE)
    total = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for start in tl.range(0, n_cols - BLOCK_SIZE, BLOCK_SIZE):
        total += tl.load(x_ptr + (start + lanes) * column_stride)
    columns = n_cols // BLOCK_SIZE * BLOCK_SIZE + lanes
    total += tl.load(x_ptr + columns * column_stride, mask=columns < n_cols, other=0.0)
    mean = tl.sum(total, axis=0) / n_cols
    squares = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + lanes
        distance = tl.load(x_ptr + columns * column_stride, mask=columns < n_cols, other=mean) - mean
        squares += distance * distance
    rstd = tl.rsqrt(tl.sum(squares, axis=0) / n_cols + eps)
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + lanes
        mask = columns < n_cols
        x = tl.load(x_ptr + columns * column_stride, mask=mask)
        weight = tl.load(weight_ptr + columns, mask=mask)
        bias = tl.load(bias_ptr + columns, mask=mask)
        tl.store(out_ptr + columns, (x - mean) * rstd * weight + bias, mask=mask)


def layernorm(x, weight, bias, eps):
    n_rows, n_cols = x.shape
    out = torch.empty((n_rows, n_cols), dtype=x.dtype, device=x.device)
    layernorm_kernel[(n_rows,)](x, weight, bias, out, *x.stride(), n_cols, eps, BLOCK_SIZE=128)
    return out
