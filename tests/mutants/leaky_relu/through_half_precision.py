"""The product is computed in fp16: nearly right, and infinite from 65520 on.

Happens in code that came from a kernel for half precision.
"""
# expect: mismatch

import torch
import triton
import triton.language as tl


@triton.jit
def leaky_relu_kernel(x_ptr, out_ptr, slope, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    scaled = (x.to(tl.float16) * slope).to(tl.float32)
    tl.store(out_ptr + offsets, tl.where(x > 0, x, scaled), mask=mask)


def leaky_relu(x, slope):
    out = torch.empty_like(x)
    n = x.numel()
    leaky_relu_kernel[(triton.cdiv(n, 256),)](x, out, slope, n, BLOCK_SIZE=256)
    return out
