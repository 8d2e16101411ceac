"""Both values are multiplied by 0 or 1 and added up: 0 times infinity is NaN.

Happens to those who avoid branches on a GPU by arithmetic.
"""
# expect: nan
# hint: weight of 0

import torch
import triton
import triton.language as tl


@triton.jit
def leaky_relu_kernel(x_ptr, out_ptr, slope, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    positive = (x > 0).to(tl.float32)
    tl.store(out_ptr + offsets, positive * x + (1 - positive) * slope * x, mask=mask)


def leaky_relu(x, slope):
    out = torch.empty_like(x)
    n = x.numel()
    leaky_relu_kernel[(triton.cdiv(n, 256),)](x, out, slope, n, BLOCK_SIZE=256)
    return out
