"""Two programs to a block, one for `x` and one for `y`; both add to zeros with atomics."""

import torch
import triton
import triton.language as tl


@triton.jit
def accumulate_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    if tl.program_id(1) == 0:
        term = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    else:
        term = tl.load(y_ptr + offsets, mask=mask, other=0.0)
    tl.atomic_add(out_ptr + offsets, term, mask=mask)


def vector_add(x, y):
    out = torch.zeros_like(x)
    n = x.numel()
    accumulate_kernel[(triton.cdiv(n, 128), 2)](x, y, out, n, BLOCK_SIZE=128)
    return out
