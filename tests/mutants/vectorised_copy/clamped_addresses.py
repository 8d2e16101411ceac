"""Lanes past the end copy the last element once more, instead of being masked: their addresses are anything."""
# expect: compiled_code
# hint: tl.minimum

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    offsets = tl.minimum(offsets, n - 1)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x)


def vectorised_copy(x):
    out = torch.empty_like(x)
    n = x.numel()
    copy_kernel[(triton.cdiv(n, 1024),)](x, out, n, BLOCK_SIZE=1024)
    return out
