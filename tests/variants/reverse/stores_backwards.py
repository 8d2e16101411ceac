"""Reads forwards, writes backwards, with a block that the grid's lambda asks for."""

import torch
import triton
import triton.language as tl


@triton.jit
def reverse_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    source = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    inside = source < n
    x = tl.load(x_ptr + source, mask=inside, other=float("nan"))
    tl.store(out_ptr + (n - 1 - source), x, mask=inside)


def reverse(x):
    n = x.size(0)
    out = torch.empty(n, dtype=x.dtype, device=x.device)
    reverse_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK_SIZE"]),)](x, out, n, BLOCK_SIZE=512)
    return out
