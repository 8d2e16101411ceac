"""A persistent kernel whose accumulator is set to zero once, before the loop over tiles: each tile holds those before it.

Happens when a loop is put around a kernel that was right. With a program for each tile it still is.
"""
# expect: mismatch, tail, first_block_only

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, m, n, k, am, ak, bk, bn, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    tiles_n = tl.cdiv(n, BLOCK)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, BLOCK) * tiles_n, tl.num_programs(0)):
        rows = tile // tiles_n * BLOCK + tl.arange(0, BLOCK)
        columns = tile % tiles_n * BLOCK + tl.arange(0, BLOCK)
        for start in tl.range(0, k, BLOCK_K):
            inner = start + tl.arange(0, BLOCK_K)
            a_mask = (rows[:, None] < m) & (inner[None, :] < k)
            b_mask = (inner[:, None] < k) & (columns[None, :] < n)
            a = tl.load(a_ptr + rows[:, None] * am + inner[None, :] * ak, mask=a_mask, other=0.0)
            b = tl.load(b_ptr + inner[:, None] * bk + columns[None, :] * bn, mask=b_mask, other=0.0)
            acc += tl.dot(a, b)
        tl.store(c_ptr + rows[:, None] * n + columns[None, :], acc, mask=(rows[:, None] < m) & (columns[None, :] < n))


def matmul(a, b):
    m, n, k = a.shape[0], b.shape[1], a.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    matmul_kernel[(2,)](a, b, c, m, n, k, *a.stride(), *b.stride(), BLOCK=32, BLOCK_K=32)
    return c
