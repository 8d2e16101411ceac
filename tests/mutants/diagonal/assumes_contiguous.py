"""One step along the diagonal is taken to be n_cols + 1, whatever the strides are.

Happens because a matrix is contiguous until somebody transposes, slices or expands it.
"""
# expect: load_out_of_bounds
# hint: row_stride

import torch
import triton
import triton.language as tl


@triton.jit
def diagonal_kernel(x_ptr, out_ptr, n_cols, n, BLOCK_SIZE: tl.constexpr):
    k = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = k < n
    x = tl.load(x_ptr + k * (n_cols + 1), mask=mask, other=0.0)
    tl.store(out_ptr + k, x, mask=mask)


def diagonal(x):
    n = min(x.shape)
    out = torch.empty(n, dtype=x.dtype, device=x.device)
    diagonal_kernel[(triton.cdiv(n, 256),)](x, out, x.shape[1], n, BLOCK_SIZE=256)
    return out
