"""As many programs as elements, and each handles a block: all but the first few have nothing to do.

Happens to those who think of CUDA's threads. The values are right.
"""
# expect: idle_programs
# hint: counts blocks

import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, 2.0 * x, mask=mask)


def double(x):
    out = torch.empty_like(x)
    n = x.numel()
    double_kernel[(n,)](x, out, n, BLOCK_SIZE=256)
    return out
