"""The load's pointer starts at the last element and counts backwards; lanes past the end are not read."""

import torch
import triton
import triton.language as tl


@triton.jit
def reverse_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    last_ptr = x_ptr + (n - 1)
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(last_ptr - offsets, mask=mask), mask=mask)


def reverse(x):
    out = torch.empty_like(x)
    reverse_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK_SIZE=64)
    return out
