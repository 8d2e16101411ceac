"""The slope is a `constexpr`: another compilation for each value, and the same result."""

import torch
import triton
import triton.language as tl


@triton.jit
def leaky_relu_kernel(x_ptr, out_ptr, n, SLOPE: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=-1.0)
    tl.store(out_ptr + offsets, tl.where(x <= 0, x * SLOPE, tl.where(x > 0, x, x)), mask=offsets < n)


def leaky_relu(x, slope):
    out = torch.empty_like(x)
    grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK_SIZE"]),)
    leaky_relu_kernel[grid](x, out, x.numel(), SLOPE=slope, BLOCK_SIZE=64)
    return out
