"""A copy is turned round in place: one program reads what another has already overwritten.

Happens when an algorithm for one processor is spread over programs. A vector of one block is right.
"""
# expect: race, overtaken_load
# hint: In place

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)


@triton.jit
def reverse_kernel(out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    mirrored = tl.load(out_ptr + n - 1 - offsets, mask=mask)
    tl.store(out_ptr + offsets, mirrored, mask=mask)


def reverse(x):
    out = torch.empty_like(x)
    n = x.numel()
    grid = (triton.cdiv(n, 256),)
    copy_kernel[grid](x, out, n, BLOCK_SIZE=256)
    reverse_kernel[grid](out, n, BLOCK_SIZE=256)
    return out
