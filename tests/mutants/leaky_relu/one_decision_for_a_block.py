"""An `if` on one number, the largest of the block: all lanes go the same way.

Happens to those who got rid of the compiler's complaint about an `if` on a tile.
"""
# expect: unchanged, mismatch

import torch
import triton
import triton.language as tl


@triton.jit
def leaky_relu_kernel(x_ptr, out_ptr, slope, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    if tl.max(x, axis=0) > 0:
        y = x
    else:
        y = slope * x
    tl.store(out_ptr + offsets, y, mask=mask)


def leaky_relu(x, slope):
    out = torch.empty_like(x)
    n = x.numel()
    leaky_relu_kernel[(triton.cdiv(n, 256),)](x, out, slope, n, BLOCK_SIZE=256)
    return out
