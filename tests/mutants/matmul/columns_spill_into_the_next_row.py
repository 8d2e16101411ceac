"""The store's mask forgets the columns, with room behind the last row: the zeros to the right of a tile fall on the next row.

Happens when a mask is extended from one dimension to two. Programs overwrite what others have written.
"""
# expect: race
# hint: masks

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, m, n, k, am, ak, bk, bn, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in tl.range(0, k, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + row * am + inner * ak, mask=inner < k, other=0.0)
        b_mask = (inner[:, None] < k) & (columns[None, :] < n)
        b = tl.load(b_ptr + inner[:, None] * bk + columns[None, :] * bn, mask=b_mask, other=0.0)
        acc += tl.sum(a[:, None] * b, axis=0)
    tl.store(c_ptr + row * n + columns, acc)


def matmul(a, b):
    m, n, k = a.shape[0], b.shape[1], a.shape[1]
    buffer = torch.empty(m * n + 64, dtype=a.dtype, device=a.device)
    grid = (m, triton.cdiv(n, 32))
    matmul_kernel[grid](a, b, buffer, m, n, k, *a.stride(), *b.stride(), BLOCK=32, BLOCK_K=32)
    return buffer[: m * n].view(m, n)
