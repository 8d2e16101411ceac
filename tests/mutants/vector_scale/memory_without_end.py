"""The launcher takes a workspace of n × n × 1024 elements and uses n of them.

Happens where a buffer is made the product of all sizes in sight: the first small tests have room for it.
"""
# expect: memory_limit

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, a, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, a * x, mask=mask)


def vector_scale(x, a):
    n = x.numel()
    workspace = torch.empty(n, n, 1024, dtype=x.dtype, device=x.device)
    out = workspace.view(-1)[:n]
    scale_kernel[(triton.cdiv(n, 256),)](x, out, a, n, BLOCK_SIZE=256)
    return out
