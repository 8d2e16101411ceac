"""A variable gets its value in an `if`, and is used after it: the interpreter runs it, the compiler does not know the name.

Happens with tails that are handled apart. Both ways through an `if` must give a variable the same kind of value.
"""
# expect: does_not_compile

import torch
import triton
import triton.language as tl


@triton.jit
def reverse_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    start = tl.program_id(0) * BLOCK_SIZE
    if start < n:
        offsets = start + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + n - 1 - offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x, mask=mask)


def reverse(x):
    out = torch.empty_like(x)
    n = x.numel()
    reverse_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK_SIZE=256)
    return out
