"""`where` chooses between two numbers, and one product follows."""

import torch
import triton
import triton.language as tl


@triton.jit
def leaky_relu_kernel(x_ptr, out_ptr, slope, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    factor = tl.where(x > 0, 1.0, slope)
    tl.store(out_ptr + offsets, x * factor, mask=mask)


def leaky_relu(x, slope):
    out = torch.empty_like(x)
    n = x.numel()
    leaky_relu_kernel[(triton.cdiv(n, 128),)](x, out, slope, n, BLOCK_SIZE=128)
    return out
