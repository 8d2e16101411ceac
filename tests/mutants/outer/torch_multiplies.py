"""torch makes the outer product, and the kernel copies it."""
# expect: torch_compute

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)


def outer(a, b):
    product = a[:, None] * b[None, :]
    out = torch.empty_like(product)
    copy_kernel[(triton.cdiv(out.numel(), 256),)](product, out, out.numel(), BLOCK_SIZE=256)
    return out
