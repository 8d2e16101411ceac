"""Two launches that each add one input to the result, which began as `torch.empty`: it was never set to zero.

Happens because fresh memory often holds zeros, until a run in which it does not.
"""
# expect: uninitialized
# hint: complete

import torch
import triton
import triton.language as tl


@triton.jit
def accumulate_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    so_far = tl.load(out_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, so_far + x, mask=mask)


def vector_add(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    grid = (triton.cdiv(n, 256),)
    accumulate_kernel[grid](x, out, n, BLOCK_SIZE=256)
    accumulate_kernel[grid](y, out, n, BLOCK_SIZE=256)
    return out
