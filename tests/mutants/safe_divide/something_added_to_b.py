"""A small number is added to every denominator.

Happens in every code base that has an `eps` lying around; where `b` is tiny the quotient is another one.
"""
# expect: mismatch
# hint: by `b` itself

import torch
import triton
import triton.language as tl


@triton.jit
def divide_kernel(a_ptr, b_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    a = tl.load(a_ptr + offsets, mask=mask, other=0.0)
    b = tl.load(b_ptr + offsets, mask=mask, other=1.0)
    tl.store(out_ptr + offsets, tl.where(b == 0, 0.0, a / (b + 1e-8)), mask=mask)


def safe_divide(a, b):
    out = torch.empty_like(a)
    n = a.numel()
    divide_kernel[(triton.cdiv(n, 256),)](a, b, out, n, BLOCK_SIZE=256)
    return out
