"""The result is fp64, "to be on the safe side".

Happens because torch compares the two without complaint, and everything downstream becomes fp64 as well.
"""
# expect: wrong_dtype
# hint: x.dtype

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
    out = torch.empty(n, dtype=torch.float64, device=x.device)
    diagonal_kernel[(triton.cdiv(n, 256),)](x, out, x.stride(0) + x.stride(1), n, BLOCK_SIZE=256)
    return out
