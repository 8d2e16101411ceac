"""tanh is written out with `exp` of a positive number: infinity over infinity is NaN.

Happens because `tl` has no tanh, and the first formula that comes to mind is (e²ᶻ − 1) / (e²ᶻ + 1).
"""
# expect: mismatch, nan

import torch
import triton
import triton.language as tl


@triton.jit
def gelu_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    e = tl.exp(2 * 0.7978845608028654 * (x + 0.044715 * x * x * x))
    tl.store(out_ptr + offsets, 0.5 * x * (1 + (e - 1) / (e + 1)), mask=mask)


def gelu(x):
    out = torch.empty_like(x)
    n = x.numel()
    gelu_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK_SIZE=256)
    return out
