"""Load the count, add 1, store it: three steps, between which another program may come.

Happens to everyone once. In one block, too, two lanes with the same value both store the old count plus 1.
"""
# expect: race, overtaken_load, mismatch
# hint: atomic_add

import torch
import triton
import triton.language as tl


@triton.jit
def histogram_kernel(x_ptr, out_ptr, n, bins, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=-1)
    mask = (x >= 0) & (x < bins)
    count = tl.load(out_ptr + x, mask=mask, other=0)
    tl.store(out_ptr + x, count + 1, mask=mask)


def histogram(x, bins):
    n = x.numel()
    out = torch.zeros(bins, dtype=torch.int32, device=x.device)
    histogram_kernel[(triton.cdiv(n, 128),)](x, out, n, bins, BLOCK_SIZE=128)
    return out
