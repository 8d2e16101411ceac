"""The result is a view with stride 2 of a larger tensor: nobody asked for a contiguous one."""

import torch
import triton
import triton.language as tl


@triton.jit
def diagonal_kernel(x_ptr, out_ptr, step, out_step, n, BLOCK_SIZE: tl.constexpr):
    k = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = k < n
    tl.store(out_ptr + k * out_step, tl.load(x_ptr + k * step, mask=mask), mask=mask)


def diagonal(x):
    n = min(x.shape)
    out = torch.empty(2 * n, dtype=x.dtype, device=x.device)[::2]
    diagonal_kernel[(triton.cdiv(n, 64),)](x, out, x.stride(0) + x.stride(1), out.stride(0), n, BLOCK_SIZE=64)
    return out
