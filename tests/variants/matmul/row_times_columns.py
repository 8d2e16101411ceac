"""One program an element of a row block: the row of `a` against a tile of `b`, multiplied and summed along K."""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, n, k, am, ak, bk, bn, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    a = tl.load(a_ptr + row * am + inner * ak, mask=inner < k, other=0.0)
    b_mask = (inner[:, None] < k) & (columns[None, :] < n)
    b = tl.load(b_ptr + inner[:, None] * bk + columns[None, :] * bn, mask=b_mask, other=0.0)
    tl.store(c_ptr + row * n + columns, tl.sum(a[:, None] * b, axis=0), mask=columns < n)


def matmul(a, b):
    m, n, k = a.shape[0], b.shape[1], a.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    matmul_kernel[(m, triton.cdiv(n, 64))](a, b, c, n, k, *a.stride(), *b.stride(), 64, triton.next_power_of_2(k))
    return c
