"""`k // BLOCK_K` steps: what is left of K after the last whole block is left out.

Happens with a division that rounds down. Right for multiples of the block.
"""
# expect: mismatch, first_block_only

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, m, n, k, am, ak, bk, bn, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for step in tl.range(0, k // BLOCK_K):
        inner = step * BLOCK_K + tl.arange(0, BLOCK_K)
        a_mask = (rows[:, None] < m) & (inner[None, :] < k)
        b_mask = (inner[:, None] < k) & (columns[None, :] < n)
        a = tl.load(a_ptr + rows[:, None] * am + inner[None, :] * ak, mask=a_mask, other=0.0)
        b = tl.load(b_ptr + inner[:, None] * bk + columns[None, :] * bn, mask=b_mask, other=0.0)
        acc += tl.dot(a, b)
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], acc, mask=mask)


def matmul(a, b):
    m, n, k = a.shape[0], b.shape[1], a.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
    matmul_kernel[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), BLOCK=32, BLOCK_K=32)
    return c
