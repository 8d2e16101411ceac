"""One program an element, and no mask at all."""

import torch
import triton
import triton.language as tl


@triton.jit
def diagonal_kernel(x_ptr, out_ptr, step):
    k = tl.program_id(0)
    tl.store(out_ptr + k, tl.load(x_ptr + k * step))


def diagonal(x):
    n = min(x.shape)
    out = torch.empty(n, dtype=x.dtype, device=x.device)
    diagonal_kernel[(n,)](x, out, x.stride(0) + x.stride(1))
    return out
