"""`tl.where` chooses 0 for the first element, after the load has read in front of `x`.

Happens to everyone who reads `where` as an `if`; it has happened in published code (vllm-ascend 16275).
"""
# expect: load_out_of_bounds
# hint: the load's own mask

import torch
import triton
import triton.language as tl


@triton.jit
def shift_right_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets - 1, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, tl.where(offsets > 0, x, 0.0), mask=mask)


def shift_right(x):
    out = torch.empty_like(x)
    n = x.numel()
    shift_right_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK_SIZE=256)
    return out
