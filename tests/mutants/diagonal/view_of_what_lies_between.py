"""A flat view made with `as_strided`, as if the rows lay one behind the other.

Happens where `x.view(-1)` refuses a matrix with gaps, and something is found that does not.
"""
# expect: load_out_of_bounds
# hint: strides

import torch
import triton
import triton.language as tl


@triton.jit
def diagonal_kernel(flat_ptr, out_ptr, n_cols, n, BLOCK_SIZE: tl.constexpr):
    k = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = k < n
    tl.store(out_ptr + k, tl.load(flat_ptr + k * (n_cols + 1), mask=mask), mask=mask)


def diagonal(x):
    n = min(x.shape)
    out = torch.empty(n, dtype=x.dtype, device=x.device)
    flat = x.as_strided((min(x.numel(), n * x.shape[1]),), (1,))
    diagonal_kernel[(triton.cdiv(n, 64),)](flat, out, x.shape[1], n, BLOCK_SIZE=64)
    return out
