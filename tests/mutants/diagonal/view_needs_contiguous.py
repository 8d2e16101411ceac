"""`x.view(-1)` makes the matrix a vector first, and refuses to for every other layout than row-major.

Happens in launchers that flatten whatever comes; the error appears with the first transposed input.
"""
# expect: crash

import torch
import triton
import triton.language as tl


@triton.jit
def diagonal_kernel(x_ptr, out_ptr, step, n, BLOCK_SIZE: tl.constexpr):
    k = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = k < n
    x = tl.load(x_ptr + k * step, mask=mask, other=0.0)
    tl.store(out_ptr + k, x, mask=mask)


def diagonal(x):
    n = min(x.shape)
    flat = x.view(-1)
    out = torch.empty(n, dtype=x.dtype, device=x.device)
    diagonal_kernel[(triton.cdiv(n, 256),)](flat, out, x.shape[1] + 1, n, BLOCK_SIZE=256)
    return out
