"""The mirror of i is taken to be n − i: the first element is fetched from behind the end.

Happens to everyone who turns something round by hand.
"""
# expect: load_out_of_bounds
# hint: n − 1 − i

import torch
import triton
import triton.language as tl


@triton.jit
def reverse_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + n - offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x, mask=mask)


def reverse(x):
    out = torch.empty_like(x)
    n = x.numel()
    reverse_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK_SIZE=256)
    return out
