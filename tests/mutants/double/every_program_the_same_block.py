"""`pid * BLOCK_SIZE` is missing from the offsets: all programs double the first block again and again.

Happens to people who think in threads, where the index within the block is most of the address. The first block is
right, so a look at the first few numbers shows nothing.
"""
# expect: race
# hint: pid * BLOCK_SIZE

import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, 2.0 * x, mask=mask)


def double(x):
    out = torch.empty_like(x)
    n = x.numel()
    double_kernel[(triton.cdiv(n, 128),)](x, out, n, BLOCK_SIZE=128)
    return out
