"""A persistent kernel whose block number never moves on: the loop does not end.

Happens when a `for` becomes a `while` and the last line is forgotten. After such an answer, a grader that had no time
limit of its own counted the rest as passed.
"""
# expect: timeout

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, a, n, n_blocks, BLOCK_SIZE: tl.constexpr):
    block = tl.program_id(0)
    while block < n_blocks:
        offsets = block * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
        tl.store(out_ptr + offsets, a * x, mask=mask)


def vector_scale(x, a):
    out = torch.empty_like(x)
    n = x.numel()
    scale_kernel[(8,)](x, out, a, n, triton.cdiv(n, 256), BLOCK_SIZE=256)
    return out
