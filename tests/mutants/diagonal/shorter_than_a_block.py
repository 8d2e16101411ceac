"""One program with a block of 256: a longer diagonal ends there.

Happens where a diagonal is thought of as something small; every matrix in the tests was.
"""
# expect: unwritten
# hint: longer than one block

import torch
import triton
import triton.language as tl


@triton.jit
def diagonal_kernel(x_ptr, out_ptr, step, n, BLOCK_SIZE: tl.constexpr):
    k = tl.arange(0, BLOCK_SIZE)
    mask = k < n
    x = tl.load(x_ptr + k * step, mask=mask, other=0.0)
    tl.store(out_ptr + k, x, mask=mask)


def diagonal(x):
    n = min(x.shape)
    out = torch.empty(n, dtype=x.dtype, device=x.device)
    diagonal_kernel[(1,)](x, out, x.stride(0) + x.stride(1), n, BLOCK_SIZE=256)
    return out
