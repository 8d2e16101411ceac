"""A kernel sets aside what has no bin, and torch counts the rest.

Happens to those who know `torch.bincount`.
"""
# expect: torch_compute

import torch
import triton
import triton.language as tl


@triton.jit
def shift_kernel(x_ptr, out_ptr, n, bins, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0)
    tl.store(out_ptr + offsets, tl.where((x >= 0) & (x < bins), x, bins), mask=mask)


def histogram(x, bins):
    n = x.numel()
    out = torch.empty_like(x)
    shift_kernel[(triton.cdiv(n, 128),)](x, out, n, bins, BLOCK_SIZE=128)
    return torch.bincount(out, minlength=bins)[:bins].to(torch.int32)
