"""A persistent loop that begins at 0 and steps by 1 in every program: each block is done once per program.

Happens when the loop of a CPU program is put into a kernel as it is. The values are right; the work is done 8 times,
and 8 programs write each element.
"""
# expect: race

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, a, n, n_blocks, BLOCK_SIZE: tl.constexpr):
    for block in range(n_blocks):
        offsets = block * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
        tl.store(out_ptr + offsets, a * x, mask=mask)


def vector_scale(x, a):
    out = torch.empty_like(x)
    n = x.numel()
    scale_kernel[(8,)](x, out, a, n, triton.cdiv(n, 256), BLOCK_SIZE=256)
    return out
