"""The result lies in a buffer that the next call writes to as well.

Happens to save an allocation; every earlier result changes behind its owner's back.
"""
# expect: overwritten

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


BUFFER = {}


def vector_add(x, y):
    n = x.numel()
    if x.device not in BUFFER or BUFFER[x.device].numel() < n:
        BUFFER[x.device] = torch.empty(2 * n, dtype=x.dtype, device=x.device)
    out = BUFFER[x.device][:n]
    add_kernel[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK_SIZE=256)
    return out
