"""The function that should only give the grid doubles the input, too."""
# expect: torch_compute

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)


def double(x):
    x, out = x.clone(), torch.empty_like(x)

    def grid(meta):
        x.mul_(2)
        return (triton.cdiv(x.numel(), meta["BLOCK_SIZE"]),)

    copy_kernel[grid](x, out, x.numel(), BLOCK_SIZE=256)
    return out
