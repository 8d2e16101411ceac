"""The result seen as one long vector: row and column are worked out from each element's number."""

import torch
import triton
import triton.language as tl


@triton.jit
def outer_kernel(a_ptr, b_ptr, out_ptr, n, total, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < total
    a = tl.load(a_ptr + offsets // n, mask=mask)
    b = tl.load(b_ptr + offsets % n, mask=mask)
    tl.store(out_ptr + offsets, a * b, mask=mask)


def outer(a, b):
    out = torch.empty((len(a), len(b)), dtype=a.dtype, device=a.device)
    outer_kernel[(triton.cdiv(out.numel(), 256),)](a, b, out, len(b), out.numel(), BLOCK_SIZE=256)
    return out
