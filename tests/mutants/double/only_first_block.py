"""One program is launched, however long the vector is: everything behind the first 1024 elements is left out.

Happened to a kernel for long rows in a widely used attention library, whose tests all fitted into one block.
"""
# expect: unwritten
# hint: cdiv

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
    double_kernel[(1,)](x, out, x.numel(), BLOCK_SIZE=1024)
    return out
