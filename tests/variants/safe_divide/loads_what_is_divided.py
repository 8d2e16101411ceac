"""`a` is loaded only where `b` is not 0; the other lanes hold the 0 that is asked for, and divide it by 1."""

import torch
import triton
import triton.language as tl


@triton.jit
def divide_kernel(a_ptr, b_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    b = tl.load(b_ptr + offsets, mask=mask, other=0.0)
    divides = mask & (b != 0)
    a = tl.load(a_ptr + offsets, mask=divides, other=0.0)
    tl.store(out_ptr + offsets, a / tl.where(b != 0, b, 1.0), mask=mask)


def safe_divide(a, b):
    out = torch.empty_like(a)
    n = a.numel()
    divide_kernel[(triton.cdiv(n, 64),)](a, b, out, n, BLOCK_SIZE=64)
    return out
