"""The mask is about the offset that is read: not below 0, and below n − 1."""

import torch
import triton
import triton.language as tl


@triton.jit
def shift_right_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    source = offsets - 1
    x = tl.load(x_ptr + source, mask=(source >= 0) & (source < n - 1), other=0.0)
    tl.store(out_ptr + offsets, x, mask=mask)


def shift_right(x):
    out = torch.empty_like(x)
    n = x.numel()
    shift_right_kernel[(triton.cdiv(n, 64),)](x, out, n, BLOCK_SIZE=64)
    return out
