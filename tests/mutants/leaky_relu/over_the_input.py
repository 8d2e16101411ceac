"""The result is stored over `x`, as `inplace=True` does it in torch.

Happens to save memory; the caller still needs its tensor.
"""
# expect: input_changed
# hint: new tensor

import torch
import triton
import triton.language as tl


@triton.jit
def leaky_relu_kernel(x_ptr, out_ptr, slope, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, tl.where(x > 0, x, slope * x), mask=mask)


def leaky_relu(x, slope):
    out = x
    n = x.numel()
    leaky_relu_kernel[(triton.cdiv(n, 256),)](x, out, slope, n, BLOCK_SIZE=256)
    return out
