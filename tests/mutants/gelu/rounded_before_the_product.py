"""erf is rounded to the dtype of `x`, and what follows is fp16 arithmetic: 1 + erf loses nearly all digits for negative `x`.

Happens to those who convert for the function that asks for it, and straight back.
"""
# expect: mismatch
# hint: Convert first

import torch
import triton
import triton.language as tl


@triton.jit
def gelu_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    e = tl.erf(x.to(tl.float32) * 0.7071067811865476).to(x.dtype)
    tl.store(out_ptr + offsets, 0.5 * x * (1 + e), mask=mask)


def gelu(x):
    out = torch.empty_like(x)
    n = x.numel()
    gelu_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK_SIZE=256)
    return out
