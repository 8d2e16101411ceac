"""Tiles in groups of two rows, and the last group is taken to be whole: some tiles are computed outside, others never.

Happens when `min(tiles_m - first, GROUP)` is left out of the order that keeps L2 warm. Right for an even number of rows of tiles.
"""
# expect: unwritten

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, m, n, k, am, ak, bk, bn, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    tiles_n = tl.cdiv(n, BLOCK)
    group = tl.program_id(0) // (2 * tiles_n)
    within = tl.program_id(0) % (2 * tiles_n)
    rows = (group * 2 + within % 2) * BLOCK + tl.arange(0, BLOCK)
    columns = within // 2 * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in tl.range(0, k, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
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
    grid = (triton.cdiv(m, 32) * triton.cdiv(n, 32),)
    matmul_kernel[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), BLOCK=32, BLOCK_K=32)
    return c
