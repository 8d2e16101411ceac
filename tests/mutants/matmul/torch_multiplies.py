"""`a @ b`, and a kernel that copies the result.

Happens to those who read "a kernel was launched" as the whole of the task.
"""
# expect: torch_compute

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)


def matmul(a, b):
    product = a @ b
    out = torch.empty_like(product)
    copy_kernel[(triton.cdiv(out.numel(), 1024),)](product, out, out.numel(), BLOCK_SIZE=1024)
    return out
