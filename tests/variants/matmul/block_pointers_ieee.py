"""Block pointers, tiles of 64 × 64, and products in full fp32 precision."""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, m, n, k, am, ak, bk, bn, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    first_row, first_column = tl.program_id(1) * BLOCK, tl.program_id(0) * BLOCK
    a_block = tl.make_block_ptr(a_ptr, (m, k), (am, ak), (first_row, 0), (BLOCK, BLOCK_K), (1, 0))
    b_block = tl.make_block_ptr(b_ptr, (k, n), (bk, bn), (0, first_column), (BLOCK_K, BLOCK), (1, 0))
    c_block = tl.make_block_ptr(c_ptr, (m, n), (n, 1), (first_row, first_column), (BLOCK, BLOCK), (1, 0))
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for _ in range(0, k, BLOCK_K):
        a = tl.load(a_block, boundary_check=(0, 1), padding_option="zero")
        b = tl.load(b_block, boundary_check=(0, 1), padding_option="zero")
        acc += tl.dot(a, b, input_precision="ieee")
        a_block = a_block.advance((0, BLOCK_K))
        b_block = b_block.advance((BLOCK_K, 0))
    tl.store(c_block, acc, boundary_check=(0, 1))


def matmul(a, b):
    m, n, k = a.shape[0], b.shape[1], a.shape[1]
    c = a.new_empty((m, n))
    matmul_kernel[(triton.cdiv(n, 64), triton.cdiv(m, 64))](a, b, c, m, n, k, *a.stride(), *b.stride(), BLOCK=64, BLOCK_K=16)
    return c
