"""The offset is clamped at 0, so that the first element comes twice.

Happens in image kernels, where that is a way to treat the border.
"""
# expect: mismatch

import torch
import triton
import triton.language as tl


@triton.jit
def shift_right_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + tl.maximum(offsets - 1, 0), mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x, mask=mask)


def shift_right(x):
    out = torch.empty_like(x)
    n = x.numel()
    shift_right_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK_SIZE=256)
    return out
