"""No store mask, and none needed: the result is a view of a buffer with room for whole blocks."""

import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + offsets, 2.0 * x)


def double(x):
    n = x.numel()
    blocks = triton.cdiv(n, 128)
    buffer = torch.empty(blocks * 128, dtype=x.dtype, device=x.device)
    double_kernel[(blocks,)](x, buffer, n, BLOCK_SIZE=128)
    return buffer[:n]
