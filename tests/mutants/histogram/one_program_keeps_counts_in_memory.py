"""One program takes one element after another, and keeps the counts in memory: stored, and loaded again.

Happens when a loop in C is written down in Triton. A program is many threads.
"""
# expect: read_back
# hint: three steps

import torch
import triton
import triton.language as tl


@triton.jit
def histogram_kernel(x_ptr, out_ptr, n, bins):
    for i in tl.range(0, n):
        x = tl.load(x_ptr + i)
        if (x >= 0) & (x < bins):
            tl.store(out_ptr + x, tl.load(out_ptr + x) + 1)


def histogram(x, bins):
    n = x.numel()
    out = torch.zeros(bins, dtype=torch.int32, device=x.device)
    histogram_kernel[(1,)](x, out, n, bins)
    return out
