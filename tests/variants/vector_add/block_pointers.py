"""Block pointers, with the boundary checked on each load and on the store."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    start = tl.program_id(0) * BLOCK_SIZE
    x_block = tl.make_block_ptr(x_ptr, shape=(n,), strides=(1,), offsets=(start,), block_shape=(BLOCK_SIZE,), order=(0,))
    y_block = tl.make_block_ptr(y_ptr, shape=(n,), strides=(1,), offsets=(start,), block_shape=(BLOCK_SIZE,), order=(0,))
    out_block = tl.make_block_ptr(out_ptr, shape=(n,), strides=(1,), offsets=(start,), block_shape=(BLOCK_SIZE,), order=(0,))
    x = tl.load(x_block, boundary_check=(0,), padding_option="zero")
    y = tl.load(y_block, boundary_check=(0,))
    tl.store(out_block, x + y, boundary_check=(0,))


def vector_add(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    add_kernel[(triton.cdiv(n, 128),)](x, y, out, n, BLOCK_SIZE=128)
    return out
