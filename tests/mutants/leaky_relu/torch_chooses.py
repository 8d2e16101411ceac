"""torch makes the tile of factors, and the kernel multiplies.

Happens when a kernel is put around what was there already.
"""
# expect: torch_compute

import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(x_ptr, factor_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x * tl.load(factor_ptr + offsets, mask=mask), mask=mask)


def leaky_relu(x, slope):
    out = torch.empty_like(x)
    factors = torch.where(x > 0, 1.0, slope)
    product_kernel[(triton.cdiv(x.numel(), 256),)](x, factors, out, x.numel(), BLOCK_SIZE=256)
    return out
