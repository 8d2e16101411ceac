"""Block pointers without `boundary_check`: the shape that they were given is not looked at.

Happens to those who take the shape for a promise. `tl.load` and `tl.store` check only the dimensions they are told to.
"""
# expect: load_out_of_bounds

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    start = tl.program_id(0) * BLOCK_SIZE
    x_block = tl.make_block_ptr(x_ptr, (n,), (1,), (start,), (BLOCK_SIZE,), (0,))
    y_block = tl.make_block_ptr(y_ptr, (n,), (1,), (start,), (BLOCK_SIZE,), (0,))
    out_block = tl.make_block_ptr(out_ptr, (n,), (1,), (start,), (BLOCK_SIZE,), (0,))
    tl.store(out_block, tl.load(x_block) + tl.load(y_block))


def vector_add(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    add_kernel[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK_SIZE=256)
    return out
