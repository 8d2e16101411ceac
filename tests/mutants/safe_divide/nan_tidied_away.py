"""Whatever is NaN or infinite becomes 0: also what torch would give for NaN / 2 or inf / 2, and what overflows.

Happens to those who look at the quotient instead of at `b`.
"""
# expect: mismatch
# hint: Don't look at the quotient

import torch
import triton
import triton.language as tl


@triton.jit
def divide_kernel(a_ptr, b_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    a = tl.load(a_ptr + offsets, mask=mask, other=0.0)
    b = tl.load(b_ptr + offsets, mask=mask, other=1.0)
    q = a / b
    tl.store(out_ptr + offsets, tl.where((q == q) & (tl.abs(q) < float("inf")), q, 0.0), mask=mask)


def safe_divide(a, b):
    out = torch.empty_like(a)
    n = a.numel()
    divide_kernel[(triton.cdiv(n, 256),)](a, b, out, n, BLOCK_SIZE=256)
    return out
