"""`x.t().contiguous()` does what was asked for, and the kernel copies a copy."""
# expect: torch_compute

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)


def transpose(x):
    turned = x.t().contiguous()
    out = torch.empty(turned.shape, dtype=x.dtype, device=x.device)
    copy_kernel[(triton.cdiv(x.numel(), 256),)](turned, out, x.numel(), BLOCK_SIZE=256)
    return out
