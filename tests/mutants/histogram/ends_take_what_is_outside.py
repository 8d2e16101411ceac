"""What lies outside is counted in the first and the last bin.

Happens where a plot's histogram is meant, with open ends.
"""
# expect: mismatch, scaled, constant, shifted
# hint: at the ends

import torch
import triton
import triton.language as tl


@triton.jit
def histogram_kernel(x_ptr, out_ptr, n, bins, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=-1)
    x = tl.minimum(tl.maximum(x, 0), bins - 1)
    tl.atomic_add(out_ptr + x, 1, mask=offsets < n)


def histogram(x, bins):
    n = x.numel()
    out = torch.zeros(bins, dtype=torch.int32, device=x.device)
    histogram_kernel[(triton.cdiv(n, 128),)](x, out, n, bins, BLOCK_SIZE=128)
    return out
