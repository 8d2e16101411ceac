"""Counts back from the end of the last block, and the load says nothing about lanes past the end: those come first.

Happens to masked loads without `other` as soon as lanes change places or are added up: on many runs they hold zeros.
"""
# expect: undefined_lanes
# hint: flipped

import torch
import triton
import triton.language as tl


@triton.jit
def reverse_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    places = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    offsets = tl.num_programs(0) * BLOCK_SIZE - 1 - places
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + places, x, mask=places < n)


def reverse(x):
    out = torch.empty_like(x)
    n = x.numel()
    reverse_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK_SIZE=256)
    return out
