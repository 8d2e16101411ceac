"""Where the factor is 0 there seems to be nothing to do, and nothing is written."""
# expect: unwritten

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, a, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    if a != 0:
        tl.store(out_ptr + offsets, a * tl.load(x_ptr + offsets, mask=mask), mask=mask)


def vector_scale(x, a):
    out = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 256),)](x, out, a, x.numel(), BLOCK_SIZE=256)
    return out
