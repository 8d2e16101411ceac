"""A kernel copies the vector, and torch does the doubling afterwards.

Happened on benchmarks of generated kernels, where it was enough that some kernel was launched.
"""
# expect: torch_compute
# hint: into the kernel

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)


def double(x):
    out = torch.empty_like(x)
    n = x.numel()
    copy_kernel[(triton.cdiv(n, 128),)](x, out, n, BLOCK_SIZE=128)
    return out.mul_(2)
