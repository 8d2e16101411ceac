"""Two stores, each with a mask of its own: what is positive, and all the rest."""

import torch
import triton
import triton.language as tl


@triton.jit
def leaky_relu_kernel(x_ptr, out_ptr, slope, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    positive = x > 0
    tl.store(out_ptr + offsets, x, mask=mask & positive)
    tl.store(out_ptr + offsets, slope * x, mask=mask & (positive == 0))


def leaky_relu(x, slope):
    out = torch.empty_like(x)
    n = x.numel()
    leaky_relu_kernel[(triton.cdiv(n, 512),)](x, out, slope, n, BLOCK_SIZE=512)
    return out
