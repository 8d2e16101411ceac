"""The mask compares the lanes, not the offsets, with a bound: `tl.arange(0, BLOCK_SIZE) < n` is true nearly everywhere.

Happens to those who compute lanes and offsets on two lines and pick the wrong one. It works while one block is enough.
"""
# expect: load_out_of_bounds
# hint: offsets < n

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    offsets = tl.program_id(0) * BLOCK_SIZE + lanes
    mask = lanes < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    y = tl.load(y_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def vector_add(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    add_kernel[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK_SIZE=256)
    return out
