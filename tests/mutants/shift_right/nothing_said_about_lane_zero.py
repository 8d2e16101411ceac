"""The load is masked as it should be, and does not say what the lane of element 0 holds.

Happens often, and on today's backends it gives a 0.
"""
# expect: undefined_lanes
# hint: other=

import torch
import triton
import triton.language as tl


@triton.jit
def shift_right_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets - 1, mask=mask & (offsets > 0))
    tl.store(out_ptr + offsets, x, mask=mask)


def shift_right(x):
    out = torch.empty_like(x)
    n = x.numel()
    shift_right_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK_SIZE=256)
    return out
