"""`n // BLOCK_SIZE` programs: the last, partial block gets none, and a short vector gets no program at all.

Happens to everyone whose first lengths are powers of two. Launching no program is no error on a GPU either.
"""
# expect: unwritten
# hint: Rounding down

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, a, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, a * x, mask=mask)


def vector_scale(x, a):
    out = torch.empty_like(x)
    n = x.numel()
    scale_kernel[(n // 256,)](x, out, a, n, BLOCK_SIZE=256)
    return out
