"""A lambda launches, with more warps on newer GPUs; the kernel writes the language's name in full."""

import torch
import triton

WARPS = 8 if torch.cuda.get_device_capability() >= (8, 0) else 4


@triton.jit
def reverse_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: triton.language.constexpr):
    offsets = triton.language.program_id(0) * BLOCK_SIZE + triton.language.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = triton.language.load(x_ptr + n - 1 - offsets, mask=mask, other=0.0)
    triton.language.store(out_ptr + offsets, x, mask=mask)


def launched(x, out):
    reverse_kernel[(triton.cdiv(x.numel(), 512),)](x, out, x.numel(), BLOCK_SIZE=512, num_warps=WARPS)
    return out


reverse = lambda x: launched(x, torch.empty_like(x))
