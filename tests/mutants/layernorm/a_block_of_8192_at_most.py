"""The block covers a row of up to 8192 elements, and no longer one."""
# expect: unwritten
# hint: longer than a block size

import torch
import triton
import triton.language as tl


@triton.jit
def layernorm_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, row_stride, column_stride, n_cols, eps, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / n_cols
    distance = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(distance * distance, axis=0) / n_cols
    normal = distance / tl.sqrt(variance + eps)
    weight = tl.load(weight_ptr + columns, mask=mask, other=0.0)
    bias = tl.load(bias_ptr + columns, mask=mask, other=0.0)
    tl.store(out_ptr + row * n_cols + columns, normal * weight + bias, mask=mask)


def layernorm(x, weight, bias, eps):
    n_rows, n_cols = x.shape
    out = torch.empty((n_rows, n_cols), dtype=x.dtype, device=x.device)
    strides = x.stride()
    block = min(triton.next_power_of_2(n_cols), 8192)
    layernorm_kernel[(n_rows,)](x, weight, bias, out, *strides, n_cols, eps, BLOCK_SIZE=block)
    return out
