"""A block of 4096, longer than most diagonals."""

import torch
import triton
import triton.language as tl


@triton.jit
def diagonal_kernel(x_ptr, out_ptr, step, n, BLOCK_SIZE: tl.constexpr):
    k = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = k < n
    x = tl.load(x_ptr + k * step, mask=mask, other=0.0)
    tl.store(out_ptr + k, x, mask=mask)


def diagonal(x):
    n = min(x.shape)
    out = torch.empty(n, dtype=x.dtype, device=x.device)
    diagonal_kernel[(triton.cdiv(n, 4096),)](x, out, sum(x.stride()), n, BLOCK_SIZE=4096)
    return out
