"""`tl.div_rn`, which rounds as the CPU does, and the zeros found by magnitude."""

import torch
import triton
import triton.language as tl


@triton.jit
def divide_kernel(a_ptr, b_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    a = tl.load(a_ptr + offsets, mask=mask, other=0.0)
    b = tl.load(b_ptr + offsets, mask=mask, other=1.0)
    q = tl.div_rn(a, b)
    tl.store(out_ptr + offsets, tl.where((b > 0) | (b < 0) | (b != b), q, 0.0), mask=mask)


def safe_divide(a, b):
    out = torch.empty_like(a)
    n = a.numel()
    divide_kernel[(triton.cdiv(n, 256),)](a, b, out, n, BLOCK_SIZE=256)
    return out
