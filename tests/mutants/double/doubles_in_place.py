"""The kernel writes to `x` itself and `x` is returned: the values are right, and the caller's tensor is spoilt.

Happened to answers on a kernel-writing benchmark: the reference ran afterwards, on inputs that were already changed.
"""
# expect: input_changed
# hint: torch.empty_like(x)

import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(x_ptr + offsets, 2.0 * x, mask=mask)


def double(x):
    n = x.numel()
    double_kernel[(triton.cdiv(n, 128),)](x, n, BLOCK_SIZE=128)
    return x
