"""Three programs take every third row, and read it through block pointers that pad with zeros."""

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr):
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0)):
        block = tl.make_block_ptr(x_ptr + row * row_stride, (n_cols,), (column_stride,), (0,), (BLOCK_SIZE,), (0,))
        total = tl.zeros((BLOCK_SIZE,), tl.float32)
        for _ in range(0, n_cols, BLOCK_SIZE):
            total += tl.load(block, boundary_check=(0,), padding_option="zero")
            block = tl.advance(block, (BLOCK_SIZE,))
        tl.store(out_ptr + row, tl.sum(total, axis=0))


def row_sum(x):
    out = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    row_sum_kernel[(3,)](x, out, *x.stride(), *x.shape, BLOCK_SIZE=256)
    return out
