"""Mean and variance come from torch, and the kernel scales.

Happens to those who found the sums hard enough.
"""
# expect: torch_compute

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(
    x_ptr, mean_ptr, var_ptr, weight_ptr, bias_ptr, out_ptr, row_stride, column_stride, n_cols, eps, BLOCK_SIZE: tl.constexpr
):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask, other=0.0)
    normal = (x - tl.load(mean_ptr + row)) / tl.sqrt(tl.load(var_ptr + row) + eps)
    weight = tl.load(weight_ptr + columns, mask=mask, other=0.0)
    bias = tl.load(bias_ptr + columns, mask=mask, other=0.0)
    tl.store(out_ptr + row * n_cols + columns, normal * weight + bias, mask=mask)


def layernorm(x, weight, bias, eps):
    n_rows, n_cols = x.shape
    out = torch.empty((n_rows, n_cols), dtype=x.dtype, device=x.device)
    variance, mean = torch.var_mean(x, dim=1, correction=0)
    block = triton.next_power_of_2(n_cols)
    scale_kernel[(n_rows,)](x, mean, variance, weight, bias, out, *x.stride(), n_cols, eps, BLOCK_SIZE=block)
    return out
