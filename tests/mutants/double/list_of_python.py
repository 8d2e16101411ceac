"""Python doubles the numbers; the kernel only copies them.

Happens where a kernel is the last thing to be written.
"""
# expect: torch_compute

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)


def double(x):
    twice = torch.tensor([2 * value for value in x.tolist()], device=x.device)
    out = torch.empty_like(x)
    copy_kernel[(triton.cdiv(x.numel(), 256),)](twice, out, x.numel(), BLOCK_SIZE=256)
    return out
