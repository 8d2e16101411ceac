"""An `if` on the slope, a number, is right: up to 1 the larger of two values, else a choice; NaN is let through."""

import torch
import triton
import triton.language as tl


@triton.jit
def leaky_relu_kernel(x_ptr, out_ptr, slope, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    if slope <= 1:
        y = tl.maximum(x, slope * x, propagate_nan=tl.PropagateNan.ALL)
    else:
        y = tl.where(x > 0, x, slope * x)
    tl.store(out_ptr + offsets, y, mask=mask)


def leaky_relu(x, slope):
    out = torch.empty_like(x)
    n = x.numel()
    leaky_relu_kernel[(triton.cdiv(n, 256),)](x, out, slope, n, BLOCK_SIZE=256)
    return out
