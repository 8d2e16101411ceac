"""The load stands under an `if` on a tile.

Happens to everyone who writes a kernel as a CUDA thread. The interpreter takes the branch for all lanes, a compiler refuses.
"""
# expect: does_not_compile

import torch
import triton
import triton.language as tl


@triton.jit
def shift_right_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    if offsets > 0:
        x = tl.load(x_ptr + offsets - 1, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x, mask=mask)


def shift_right(x):
    out = torch.empty_like(x)
    n = x.numel()
    shift_right_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK_SIZE=256)
    return out
