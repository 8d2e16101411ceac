"""An empty vector is answered without a kernel; four programs loop over the blocks of any other."""

import torch
import triton
import triton.language as tl


@triton.jit
def histogram_kernel(x_ptr, out_ptr, n, bins, BLOCK_SIZE: tl.constexpr):
    for block in tl.range(tl.program_id(0), tl.cdiv(n, BLOCK_SIZE), tl.num_programs(0)):
        offsets = block * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0)
        tl.atomic_add(out_ptr + x, 1, mask=mask & (x >= 0) & (x < bins), sem="relaxed")


def histogram(x, bins):
    out = torch.zeros((bins,), dtype=torch.int32, device=x.device)
    if x.numel() > 0:
        histogram_kernel[(4,)](x, out, x.numel(), bins, BLOCK_SIZE=64)
    return out
