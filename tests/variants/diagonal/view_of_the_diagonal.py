"""torch makes a view of the diagonal, which moves nothing, and the kernel copies a vector with a stride."""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, stride, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets * stride, mask=mask), mask=mask)


def diagonal(x):
    line = x.diagonal()
    out = torch.empty(line.shape, dtype=x.dtype, device=x.device)
    copy_kernel[(triton.cdiv(line.numel(), 128),)](line, out, line.stride(0), line.numel(), BLOCK_SIZE=128)
    return out
