"""The store's mask leaves out the lanes in which `b` is 0, and nobody writes the 0.

Happens when a mask is taken for a `where`; `torch.empty` is often 0 by luck.
"""
# expect: unwritten
# hint: somebody must store it

import torch
import triton
import triton.language as tl


@triton.jit
def divide_kernel(a_ptr, b_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    a = tl.load(a_ptr + offsets, mask=mask, other=0.0)
    b = tl.load(b_ptr + offsets, mask=mask, other=1.0)
    tl.store(out_ptr + offsets, a / b, mask=mask & (b != 0))


def safe_divide(a, b):
    out = torch.empty_like(a)
    n = a.numel()
    divide_kernel[(triton.cdiv(n, 256),)](a, b, out, n, BLOCK_SIZE=256)
    return out
