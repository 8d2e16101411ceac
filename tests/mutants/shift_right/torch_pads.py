"""torch pads the vector at its front, and the kernel copies.

Happens when what one knows from torch is so much shorter.
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


def shift_right(x):
    padded = torch.nn.functional.pad(x, (1, 0))
    out = torch.empty_like(x)
    copy_kernel[(triton.cdiv(x.numel(), 256),)](padded, out, x.numel(), BLOCK_SIZE=256)
    return out
