"""A copy is turned round in place by a single program: one of its threads may store to what another has not loaded yet."""
# expect: overtaken_load
# hint: write to a new tensor

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)


@triton.jit
def turn_kernel(out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(out_ptr + offsets, mask=mask)
    tl.store(out_ptr + n - 1 - offsets, x, mask=mask)


def reverse(x):
    n = x.numel()
    out = torch.empty_like(x)
    if n:
        copy_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK_SIZE=256)
        turn_kernel[(1,)](out, n, BLOCK_SIZE=triton.next_power_of_2(n))
    return out
