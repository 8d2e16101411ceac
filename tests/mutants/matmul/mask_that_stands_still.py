"""The pointers move on along K, and the mask is that of the first step.

Happens when the loop is written around a body for one block. Right for multiples of the block.
"""
# expect: load_out_of_bounds

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, m, n, k, am, ak, bk, bn, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inner = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rows[:, None] * am + inner[None, :] * ak
    b_ptrs = b_ptr + inner[:, None] * bk + columns[None, :] * bn
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for _ in tl.range(0, k, BLOCK_K):
        a = tl.load(a_ptrs, mask=(rows[:, None] < m) & (inner[None, :] < k), other=0.0)
        b = tl.load(b_ptrs, mask=(inner[:, None] < k) & (columns[None, :] < n), other=0.0)
        acc += tl.dot(a, b)
        a_ptrs += BLOCK_K * ak
        b_ptrs += BLOCK_K * bk
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], acc, mask=mask)


def matmul(a, b):
    m, n, k = a.shape[0], b.shape[1], a.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
    matmul_kernel[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), BLOCK=32, BLOCK_K=32)
    return c
