"""The formula is a function of its own with `@triton.jit`, and a named constant."""

import torch
import triton
import triton.language as tl


SQRT_HALF = tl.constexpr(0.7071067811865476)


@triton.jit
def gelu_of(x):
    return 0.5 * x * (1.0 + tl.erf(x * SQRT_HALF))


@triton.jit
def gelu_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + offsets, gelu_of(x), mask=mask)


def gelu(x):
    out = torch.empty_like(x)
    n = x.numel()
    gelu_kernel[(triton.cdiv(n, 512),)](x, out, n, BLOCK_SIZE=512)
    return out
