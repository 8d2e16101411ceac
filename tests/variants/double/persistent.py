"""Eight programs, however long the vector is; each takes every eighth block."""

import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    step = tl.num_programs(0) * BLOCK_SIZE
    for start in tl.range(tl.program_id(0) * BLOCK_SIZE, n, step):
        offsets = start + tl.arange(0, BLOCK_SIZE)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
        tl.store(out_ptr + offsets, x + x, mask=mask)


def double(x):
    out = torch.empty_like(x)
    double_kernel[(8,)](x, out, x.numel(), BLOCK_SIZE=128)
    return out
