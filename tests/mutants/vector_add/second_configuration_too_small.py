"""One of two configurations covers only half of the elements: the grid counts blocks of 256.

Happens when a grid is written before the kernel is autotuned.
"""
# expect: unwritten

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK_SIZE": 256}), triton.Config({"BLOCK_SIZE": 128})], key=["n"])
@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def vector_add(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    add_kernel[(triton.cdiv(n, 256),)](x, y, out, n)
    return out
