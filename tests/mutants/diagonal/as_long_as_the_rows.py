"""One element for each row, also where there are more rows than columns: the diagonal runs out of the matrix.

Happens with square matrices in every test.
"""
# expect: load_out_of_bounds
# hint: min(M, N)

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
    n = x.shape[0]
    out = torch.empty(n, dtype=x.dtype, device=x.device)
    diagonal_kernel[(triton.cdiv(n, 256),)](x, out, x.stride(0) + x.stride(1), n, BLOCK_SIZE=256)
    return out
