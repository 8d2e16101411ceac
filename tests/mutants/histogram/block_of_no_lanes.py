"""The block is as long as the vector, and of an empty one it has no lanes.

Happens to those who test with data. `triton.next_power_of_2(0)` is 0.
"""
# expect: crash, does_not_compile
# hint: one lane at least

import torch
import triton
import triton.language as tl


@triton.jit
def histogram_kernel(x_ptr, out_ptr, n, bins, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=-1)
    tl.atomic_add(out_ptr + x, 1, mask=(x >= 0) & (x < bins))


def histogram(x, bins):
    n = x.numel()
    out = torch.zeros(bins, dtype=torch.int32, device=x.device)
    histogram_kernel[(1,)](x, out, n, bins, BLOCK_SIZE=triton.next_power_of_2(n))
    return out
