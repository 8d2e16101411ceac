"""The kernel divides, and torch's `nan_to_num` tidies up afterwards.

Happens with a line that one knows from PyTorch.
"""
# expect: torch_compute

import torch
import triton
import triton.language as tl


@triton.jit
def divide_kernel(a_ptr, b_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    a = tl.load(a_ptr + offsets, mask=mask, other=0.0)
    b = tl.load(b_ptr + offsets, mask=mask, other=1.0)
    tl.store(out_ptr + offsets, a / b, mask=mask)


def safe_divide(a, b):
    out = torch.empty_like(a)
    divide_kernel[(triton.cdiv(a.numel(), 256),)](a, b, out, a.numel(), BLOCK_SIZE=256)
    return torch.nan_to_num(out, nan=0.0, posinf=0.0, neginf=0.0)
