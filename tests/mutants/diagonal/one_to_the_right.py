"""Element (k, k + 1) in place of (k, k): the diagonal above the main one.

Happens when the step is right and the start is not.
"""
# expect: load_out_of_bounds

import torch
import triton
import triton.language as tl


@triton.jit
def diagonal_kernel(x_ptr, out_ptr, row_stride, column_stride, n, BLOCK_SIZE: tl.constexpr):
    k = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = k < n
    x = tl.load(x_ptr + k * row_stride + (k + 1) * column_stride, mask=mask, other=0.0)
    tl.store(out_ptr + k, x, mask=mask)


def diagonal(x):
    n = min(x.shape)
    out = torch.empty(n, dtype=x.dtype, device=x.device)
    diagonal_kernel[(triton.cdiv(n, 256),)](x, out, *x.stride(), n, BLOCK_SIZE=256)
    return out
