"""One comparison for both ends: −1 is a huge number without a sign."""

import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n"])
def shift_right_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    source = offsets - 1
    inside = source.to(tl.uint32, bitcast=True) < n.to(tl.uint32) - 1
    x = tl.load(x_ptr + source, mask=inside & mask, other=0.0)
    tl.store(out_ptr + offsets, x, mask=mask)


def shift_right(x):
    out = torch.empty_like(x)
    n = x.numel()
    shift_right_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK_SIZE=256)
    return out
