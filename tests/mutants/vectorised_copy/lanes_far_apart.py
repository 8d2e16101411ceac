"""Neighbouring lanes are a whole stretch apart in memory: no thread holds two neighbours."""
# expect: compiled_code
# hint: nothing multiplied

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, stretch, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) + tl.arange(0, BLOCK_SIZE) * stretch
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x, mask=mask)


def vectorised_copy(x):
    out = torch.empty_like(x)
    n = x.numel()
    stretch = triton.cdiv(n, 1024)
    copy_kernel[(stretch,)](x, out, n, stretch, BLOCK_SIZE=1024)
    return out
