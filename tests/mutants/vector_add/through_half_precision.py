"""The sum is formed in fp16 and stored as fp32: the dtype is right, and half of the digits are gone.

Happened on leaderboards, where a tolerance made for fp16 inputs let kernels for fp32 win by computing less.
"""
# expect: mismatch
# hint: fp16

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float16)
    y = tl.load(y_ptr + offsets, mask=mask, other=0.0).to(tl.float16)
    tl.store(out_ptr + offsets, (x + y).to(tl.float32), mask=mask)


def vector_add(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    add_kernel[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK_SIZE=256)
    return out
