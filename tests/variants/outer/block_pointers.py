"""Block pointers for the vectors and for the result, and `tl.expand_dims`."""

import torch
import triton
import triton.language as tl


@triton.jit
def outer_kernel(a_ptr, b_ptr, out_ptr, m, n, BLOCK: tl.constexpr):
    first_row, first_column = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    a_block = tl.make_block_ptr(a_ptr, (m,), (1,), (first_row,), (BLOCK,), (0,))
    b_block = tl.make_block_ptr(b_ptr, (n,), (1,), (first_column,), (BLOCK,), (0,))
    out_block = tl.make_block_ptr(out_ptr, (m, n), (n, 1), (first_row, first_column), (BLOCK, BLOCK), (1, 0))
    a = tl.load(a_block, boundary_check=(0,), padding_option="zero")
    b = tl.load(b_block, boundary_check=(0,), padding_option="zero")
    tl.store(out_block, tl.expand_dims(a, 1) * tl.expand_dims(b, 0), boundary_check=(0, 1))


def outer(a, b):
    m, n = a.numel(), b.numel()
    out = torch.empty((m, n), dtype=a.dtype, device=a.device)
    outer_kernel[(triton.cdiv(m, 16), triton.cdiv(n, 16))](a, b, out, m, n, BLOCK=16)
    return out
