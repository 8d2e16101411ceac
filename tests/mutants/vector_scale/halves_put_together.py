"""Two halves of a block are put together by `tl.cat`, which may mix them, and stored as if the second followed the first."""
# expect: reordered

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, factor, n, HALF: tl.constexpr):
    first = tl.program_id(axis=0) * 2 * HALF
    left = first + tl.arange(0, HALF)
    right = left + HALF
    x = tl.cat(tl.load(x_ptr + left, mask=left < n), tl.load(x_ptr + right, mask=right < n), can_reorder=True)
    offsets = first + tl.arange(0, 2 * HALF)
    tl.store(out_ptr + offsets, x * factor, mask=offsets < n)


def vector_scale(x, a):
    out = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 256),)](x, out, a, x.numel(), HALF=128)
    return out
