"""Offsets kept in eight bits wrap round at 128 and point before the start of the tensors.

Happened, with 32 bits and two thousand million elements, in attention kernels and in ports of them: the address is wrong
and nobody is told. `offsets < n` does not help: a negative number is below n.
"""
# expect: load_out_of_bounds
# hint: wrapped around

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = (tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)).to(tl.int8)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    y = tl.load(y_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def vector_add(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    add_kernel[(triton.cdiv(n, 64),)](x, y, out, n, BLOCK_SIZE=64)
    return out
