"""An `if` on a tile: the interpreter takes the first branch for all lanes, a compiler refuses.

Happens to everyone who writes a kernel as a CUDA thread.
"""
# expect: does_not_compile

import torch
import triton
import triton.language as tl


@triton.jit
def divide_kernel(a_ptr, b_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    a = tl.load(a_ptr + offsets, mask=mask, other=0.0)
    b = tl.load(b_ptr + offsets, mask=mask, other=1.0)
    if b != 0:
        q = a / b
    else:
        q = a * 0.0
    tl.store(out_ptr + offsets, q, mask=mask)


def safe_divide(a, b):
    out = torch.empty_like(a)
    n = a.numel()
    divide_kernel[(triton.cdiv(n, 256),)](a, b, out, n, BLOCK_SIZE=256)
    return out
