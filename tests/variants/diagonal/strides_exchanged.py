"""The launcher exchanges the two strides, which does not matter here: k · a + k · b is k · b + k · a."""

import torch
import triton
import triton.language as tl


@triton.jit
def diagonal_kernel(x_ptr, out_ptr, row_stride, column_stride, n, BLOCK_SIZE: tl.constexpr):
    k = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = k < n
    x = tl.load(x_ptr + k * row_stride + k * column_stride, mask=mask)
    tl.store(out_ptr + k, x, mask=mask)


def diagonal(x):
    n = min(x.shape)
    out = torch.empty(n, dtype=x.dtype, device=x.device)
    diagonal_kernel[(triton.cdiv(n, 32),)](x, out, x.stride(1), x.stride(0), n, BLOCK_SIZE=32)
    return out
