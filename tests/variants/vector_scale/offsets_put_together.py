"""The offsets of a block are put together from two halves: whichever order they come in, each value goes where it belongs."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, factor, n, HALF: tl.constexpr):
    left = tl.program_id(axis=0) * 2 * HALF + tl.arange(0, HALF)
    offsets = tl.view(tl.cat(left, left + HALF, can_reorder=True), (2, HALF))
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * factor, mask=mask)


def vector_scale(x, a):
    out = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 256),)](x, out, a, x.numel(), HALF=128)
    return out
