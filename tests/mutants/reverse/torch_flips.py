"""torch's `flip` turns the vector round, and the kernel copies what it made.

Happened on benchmarks of generated kernels, which asked only whether a kernel had been launched.
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


def reverse(x):
    flipped = torch.flip(x, (0,))
    out = torch.empty_like(x)
    n = x.numel()
    copy_kernel[(triton.cdiv(n, 256),)](flipped, out, n, BLOCK_SIZE=256)
    return out
