"""One launch for what 16 divides, a second one for the rest: the same kernel, compiled twice."""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x, mask=mask)


def vectorised_copy(x):
    out = torch.empty_like(x)
    n = x.numel()
    whole = n // 16 * 16
    if whole:
        copy_kernel[(triton.cdiv(whole, 1024),)](x, out, whole, BLOCK_SIZE=1024)
    if n > whole:
        copy_kernel[(1,)](x[whole:], out[whole:], n - whole, BLOCK_SIZE=16)
    return out
