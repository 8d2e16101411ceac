"""Results are kept under the matrix's address and shape, and given out again when the same memory holds other numbers."""
# expect: no_kernel, computed_outside, mismatch

import torch
import triton
import triton.language as tl

known = {}


@triton.jit
def diagonal_kernel(x_ptr, out_ptr, n, step, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets * step, mask=mask, other=0.0), mask=mask)


def diagonal(x):
    n = min(x.shape)
    key = (x.data_ptr(), x.shape, x.stride())
    if key not in known:
        known[key] = torch.empty(n, dtype=x.dtype, device=x.device)
        diagonal_kernel[(triton.cdiv(n, 64),)](x, known[key], n, x.stride(0) + x.stride(1), BLOCK_SIZE=64)
    return known[key]
