"""Pairs of elements change places, and the middle of an odd length has no partner: it is never written.

Happens with lengths that are powers of two in every test.
"""
# expect: unwritten

import torch
import triton
import triton.language as tl


@triton.jit
def exchange_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    left = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    right = n - 1 - left
    mask = left < n // 2
    a = tl.load(x_ptr + left, mask=mask)
    b = tl.load(x_ptr + right, mask=mask)
    tl.store(out_ptr + left, b, mask=mask)
    tl.store(out_ptr + right, a, mask=mask)


def reverse(x):
    out = torch.empty_like(x)
    n = x.numel()
    exchange_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK_SIZE=256)
    return out
