"""A persistent kernel that steps by 8, launched with 16 programs: most blocks are done twice.

Happens when the number of programs is written down in two places and changed in one.
"""
# expect: race
# hint: P is the number of programs

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, a, n, n_blocks, BLOCK_SIZE: tl.constexpr):
    for block in tl.range(tl.program_id(0), n_blocks, 8):
        offsets = block * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
        tl.store(out_ptr + offsets, a * x, mask=mask)


def vector_scale(x, a):
    out = torch.empty_like(x)
    n = x.numel()
    scale_kernel[(16,)](x, out, a, n, triton.cdiv(n, 64), BLOCK_SIZE=64)
    return out
