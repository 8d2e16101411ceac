"""Load and store both count backwards: a copy.

Happens to those who mirror "the offsets" on the line where they are made.
"""
# expect: unchanged

import torch
import triton
import triton.language as tl


@triton.jit
def reverse_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = n - 1 - (tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE))
    mask = offsets >= 0
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x, mask=mask)


def reverse(x):
    out = torch.empty_like(x)
    n = x.numel()
    reverse_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK_SIZE=256)
    return out
