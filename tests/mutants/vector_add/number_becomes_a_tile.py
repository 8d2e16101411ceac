"""A sum that begins as the number 0.0 and becomes a tile inside the loop: a variable of a loop may not change its kind.

Happens to every first accumulator. The interpreter does not mind.
"""
# expect: does_not_compile
# hint: type and its shape

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, two, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    total = 0.0
    for i in range(two):
        source = x_ptr if i == 0 else y_ptr
        total += tl.load(source + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, total, mask=mask)


def vector_add(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    add_kernel[(triton.cdiv(n, 256),)](x, y, out, n, 2, BLOCK_SIZE=256)
    return out
