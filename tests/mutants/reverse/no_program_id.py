"""Every program turns the whole vector's first block round; `tl.program_id` does not occur.

Happens to those who think in threads of one block.
"""
# expect: race

import torch
import triton
import triton.language as tl


@triton.jit
def reverse_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + n - 1 - offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x, mask=mask)


def reverse(x):
    out = torch.empty_like(x)
    n = x.numel()
    reverse_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK_SIZE=256)
    return out
