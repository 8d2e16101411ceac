"""The compiler is told that the length is a multiple of 16, to make it faster; most lengths are not.

Happens where a promise is copied from a kernel whose sizes are. On a GPU the mask of one lane then counts for its neighbours.
"""
# expect: false_promise
# hint: for every input

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, a, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < tl.multiple_of(tl.cast(n, tl.int32), 16)
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, a * x, mask=mask)


def vector_scale(x, a):
    out = torch.empty_like(x)
    n = x.numel()
    scale_kernel[(triton.cdiv(n, 256),)](x, out, a, n, BLOCK_SIZE=256)
    return out
