"""No loop over K: one product of two tiles, for the first 64 of K.

Happens where the first version worked for small matrices.
"""
# expect: mismatch, first_block_only

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, m, n, k, am, ak, bk, bn, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inner = tl.arange(0, BLOCK_K)
    a_mask = (rows[:, None] < m) & (inner[None, :] < k)
    b_mask = (inner[:, None] < k) & (columns[None, :] < n)
    a = tl.load(a_ptr + rows[:, None] * am + inner[None, :] * ak, mask=a_mask, other=0.0)
    b = tl.load(b_ptr + inner[:, None] * bk + columns[None, :] * bn, mask=b_mask, other=0.0)
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], tl.dot(a, b), mask=mask)


def matmul(a, b):
    m, n, k = a.shape[0], b.shape[1], a.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
    matmul_kernel[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), BLOCK=32, BLOCK_K=64)
    return c
