"""`min` and `max` as Python spells them, on tiles, which the compiler takes for `tl.minimum` and `tl.maximum`; the factor is
converted in the kernel, as a float argument can be.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, factor, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    inside = max(min(offsets, n - 1), 0)
    tl.store(out_ptr + offsets, tl.load(x_ptr + inside) * factor.to(tl.float32), mask=offsets < max(n, 0))


def vector_scale(x, a):
    out = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 128),)](x, out, float(a), x.numel(), BLOCK_SIZE=128)
    return out
