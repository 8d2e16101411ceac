"""One element a program: each loads its value's count, adds 1 and stores it.

Happened in a published kernel. The interpreter's answer is right, since there one program runs after another.
"""
# expect: race
# hint: atomic_add

import torch
import triton
import triton.language as tl


@triton.jit
def histogram_kernel(x_ptr, out_ptr, n, bins):
    x = tl.load(x_ptr + tl.program_id(0))
    if (x >= 0) & (x < bins):
        tl.store(out_ptr + x, tl.load(out_ptr + x) + 1)


def histogram(x, bins):
    n = x.numel()
    out = torch.zeros(bins, dtype=torch.int32, device=x.device)
    histogram_kernel[(n,)](x, out, n, bins)
    return out
