"""Twelve steps along K are under way at once, and their tiles do not fit into shared memory.

Only where sizes are multiples of 16 is a step copied there ahead of time, and only there does it need so much.
"""
# expect: does_not_compile

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr
):
    program = tl.program_id(0)
    n_rows, n_cols = tl.cdiv(M, BLOCK), tl.cdiv(N, BLOCK)
    in_group = GROUP * n_cols
    first = program // in_group * GROUP
    height = tl.minimum(n_rows - first, GROUP)
    tile_row = first + program % in_group % height
    tile_col = program % in_group // height
    rows = tile_row * BLOCK + tl.arange(0, BLOCK)
    columns = tile_col * BLOCK + tl.arange(0, BLOCK)
    accumulator = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in tl.range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        a_mask = (rows[:, None] < M) & (inner[None, :] < K)
        b_mask = (inner[:, None] < K) & (columns[None, :] < N)
        a = tl.load(a_ptr + rows[:, None] * a_row + inner[None, :] * a_col, mask=a_mask, other=0.0)
        b = tl.load(b_ptr + inner[:, None] * b_row + columns[None, :] * b_col, mask=b_mask, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
    c_mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], accumulator.to(tl.float16), mask=c_mask)


def matmul_grouped(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, 64) * triton.cdiv(N, 64),)
    matmul_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), BLOCK=64, BLOCK_K=64, GROUP=4, num_stages=12)
    return c
