"""torch computes erf, and the kernel the product.

Happens to those who do not find erf in `tl`.
"""
# expect: torch_compute

import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(x_ptr, erf_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    erf = tl.load(erf_ptr + offsets, mask=mask).to(tl.float32)
    tl.store(out_ptr + offsets, 0.5 * x * (1 + erf), mask=mask)


def gelu(x):
    out = torch.empty_like(x)
    erf = torch.erf(x * 2**-0.5)
    product_kernel[(triton.cdiv(x.numel(), 256),)](x, erf, out, x.numel(), BLOCK_SIZE=256)
    return out
