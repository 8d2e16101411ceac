"""Where the factor is 0 nothing is loaded, and zeros are stored: but 0 times infinity, or NaN, is NaN."""
# expect: mismatch

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, factor: tl.constexpr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    if factor == 0:
        tl.store(out_ptr + offsets, tl.zeros((BLOCK_SIZE,), tl.float32), mask=mask)
    else:
        tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * factor, mask=mask)


def vector_scale(x, a):
    out = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 256),)](x, out, a, x.numel(), BLOCK_SIZE=256)
    return out
