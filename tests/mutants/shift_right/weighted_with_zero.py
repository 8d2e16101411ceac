"""The first element is loaded from offset 0 and multiplied by 0: NaN if it is NaN or infinite.

Happens to those who avoid a mask by arithmetic.
"""
# expect: nan

import torch
import triton
import triton.language as tl


@triton.jit
def shift_right_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + tl.maximum(offsets - 1, 0), mask=mask, other=0.0)
    kept = tl.minimum(offsets, 1).to(tl.float32)
    tl.store(out_ptr + offsets, x * kept, mask=mask)


def shift_right(x):
    out = torch.empty_like(x)
    n = x.numel()
    shift_right_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK_SIZE=256)
    return out
