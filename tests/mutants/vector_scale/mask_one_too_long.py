"""The mask is `offsets <= n`: one lane too many, and only where the last block has room for it.

Happens to those who think of n as the last index. With n = 256 in one block nothing shows.
"""
# expect: load_out_of_bounds
# hint: not `<=`

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, a, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets <= n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, a * x, mask=mask)


def vector_scale(x, a):
    out = torch.empty_like(x)
    n = x.numel()
    scale_kernel[(triton.cdiv(n, 256),)](x, out, a, n, BLOCK_SIZE=256)
    return out
