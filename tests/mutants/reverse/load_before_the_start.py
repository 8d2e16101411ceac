"""The load has no mask, and its lanes past the end point *before* the beginning of `x`.

Happens to those who look for trouble at the end only.
"""
# expect: load_out_of_bounds
# hint: below 0

import torch
import triton
import triton.language as tl


@triton.jit
def reverse_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + n - 1 - offsets)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


def reverse(x):
    out = torch.empty_like(x)
    n = x.numel()
    reverse_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK_SIZE=256)
    return out
