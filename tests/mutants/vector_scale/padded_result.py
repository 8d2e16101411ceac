"""The result is as long as all blocks together, and comes back with its padding.

Happens to those who get rid of the store's mask by allocating more, and forget to cut the result to length.
"""
# expect: wrong_shape
# hint: empty_like

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, a, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + offsets, a * x)


def vector_scale(x, a):
    n = x.numel()
    blocks = triton.cdiv(n, 256)
    out = torch.empty(blocks * 256, dtype=x.dtype, device=x.device)
    scale_kernel[(blocks,)](x, out, a, n, BLOCK_SIZE=256)
    return out
