"""Each block is turned round within itself, and the blocks stay in their old order.

The commonest wrong answer to this exercise wherever it is set: a vector that fits into one block comes out right.
"""
# expect: shifted

import torch
import triton
import triton.language as tl


@triton.jit
def reverse_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    start = tl.program_id(0) * BLOCK_SIZE
    length = tl.minimum(n - start, BLOCK_SIZE)
    lanes = tl.arange(0, BLOCK_SIZE)
    mask = lanes < length
    x = tl.load(x_ptr + start + lanes, mask=mask, other=0.0)
    tl.store(out_ptr + start + length - 1 - lanes, x, mask=mask)


def reverse(x):
    out = torch.empty_like(x)
    n = x.numel()
    reverse_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK_SIZE=256)
    return out
