"""Four programs, each steps over eight blocks: half of the blocks are nobody's.

Happens to those who change the grid and forget the loop. Short vectors have no such block.
"""
# expect: unwritten
# hint: tl.num_programs(0)

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, a, n, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    for block in tl.range(pid, tl.cdiv(n, BLOCK_SIZE), 8):
        offsets = block * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
        tl.store(out_ptr + offsets, a * x, mask=mask)


def vector_scale(x, a):
    out = torch.empty_like(x)
    scale_kernel[(4,)](x, out, a, x.numel(), BLOCK_SIZE=128)
    return out
