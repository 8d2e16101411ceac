"""A block longer than most vectors, and one program more than is needed: n // BLOCK_SIZE + 1."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, a, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, a * x, mask=mask)


def vector_scale(x, a):
    out = torch.empty_like(x)
    n = x.numel()
    scale_kernel[(n // 4096 + 1,)](x_ptr=x, out_ptr=out, a=a, n=n, BLOCK_SIZE=4096)
    return out
