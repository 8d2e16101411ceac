"""From the top right to the bottom left.

Happens where "diagonal" is taken from a picture. On a symmetric 3 × 3 example, the middle is right.
"""
# expect: mismatch

import torch
import triton
import triton.language as tl


@triton.jit
def diagonal_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, n, BLOCK_SIZE: tl.constexpr):
    k = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = k < n
    x = tl.load(x_ptr + k * row_stride + (n_cols - 1 - k) * column_stride, mask=mask, other=0.0)
    tl.store(out_ptr + k, x, mask=mask)


def diagonal(x):
    n = min(x.shape)
    out = torch.empty(n, dtype=x.dtype, device=x.device)
    diagonal_kernel[(triton.cdiv(n, 256),)](x, out, *x.stride(), x.shape[1], n, BLOCK_SIZE=256)
    return out
