"""The counts fill a tile that is longer than the result, and the atomic has no mask: spare bins hold 0, which adds nothing.

Happens because adding 0 looks harmless. It touches memory behind the result.
"""
# expect: store_out_of_bounds
# hint: spare lanes

import torch
import triton
import triton.language as tl


@triton.jit
def histogram_kernel(x_ptr, out_ptr, n, bins, BINS: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=-1)
    counts = tl.histogram(x, BINS, mask=(x >= 0) & (x < bins))
    lanes = tl.arange(0, BINS)
    tl.atomic_add(out_ptr + lanes, counts)


def histogram(x, bins):
    n = x.numel()
    out = torch.zeros(bins, dtype=torch.int32, device=x.device)
    grid = (triton.cdiv(n, 256),)
    histogram_kernel[grid](x, out, n, bins, BINS=max(2, triton.next_power_of_2(bins)), BLOCK_SIZE=256)
    return out
