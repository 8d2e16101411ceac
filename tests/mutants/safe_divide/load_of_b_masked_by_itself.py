"""`a` is loaded only where `b` is not 0, without `other`, and multiplied by a weight.

Happens to those who want to save loads: what the other lanes hold is undefined.
"""
# expect: undefined_lanes
# hint: other=

import torch
import triton
import triton.language as tl


@triton.jit
def divide_kernel(a_ptr, b_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    b = tl.load(b_ptr + offsets, mask=mask, other=1.0)
    a = tl.load(a_ptr + offsets, mask=mask & (b != 0))
    tl.store(out_ptr + offsets, a / tl.where(b == 0, float("inf"), b), mask=mask)


def safe_divide(a, b):
    out = torch.empty_like(a)
    n = a.numel()
    divide_kernel[(triton.cdiv(n, 256),)](a, b, out, n, BLOCK_SIZE=256)
    return out
