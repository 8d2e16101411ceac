"""A group is lower where it is the only one; the last of several counts as high as the others, and some tiles have no program."""
# expect: unwritten

import torch
import triton
import triton.language as tl


BLOCK, BLOCK_K, GROUP = 32, 32, 4


@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    a_row_stride,
    a_col_stride,
    b_row_stride,
    b_col_stride,
    BLOCK: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
):
    n_rows, n_cols = tl.cdiv(M, BLOCK), tl.cdiv(N, BLOCK)
    program = tl.program_id(0)
    in_group = GROUP * n_cols
    first = program // in_group * GROUP
    height = min(n_rows, GROUP)
    tile_row = first + program % in_group % height
    tile_col = program % in_group // height
    rows = tile_row * BLOCK + tl.arange(0, BLOCK)
    columns = tile_col * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        a_mask = (rows[:, None] < M) & (inner[None, :] < K)
        b_mask = (inner[:, None] < K) & (columns[None, :] < N)
        a = tl.load(a_ptr + rows[:, None] * a_row_stride + inner[None, :] * a_col_stride, mask=a_mask, other=0.0)
        b = tl.load(b_ptr + inner[:, None] * b_row_stride + columns[None, :] * b_col_stride, mask=b_mask, other=0.0)
        acc = tl.dot(a, b, acc)
    c_mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc.to(tl.float16), mask=c_mask)


def matmul_grouped(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, BLOCK) * triton.cdiv(N, BLOCK),)
    matmul_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), BLOCK=BLOCK, BLOCK_K=BLOCK_K, GROUP=GROUP)
    return c
