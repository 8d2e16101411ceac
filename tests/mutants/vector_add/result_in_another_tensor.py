"""The kernel fills one tensor, the launcher returns another that it allocated for the same purpose.

Happens when a launcher is rewritten; on a GPU the second tensor may even get the memory of the first, with last time's
right result in it.
"""
# expect: unwritten
# hint: Return the tensor

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    y = tl.load(y_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def vector_add(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    add_kernel[(triton.cdiv(n, 256),)](x, y, torch.empty_like(x), n, BLOCK_SIZE=256)
    return out
