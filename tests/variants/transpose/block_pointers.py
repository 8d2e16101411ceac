"""Block pointers that know shapes and strides, and `tl.permute`."""

import torch
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(x_ptr, out_ptr, x_row, x_column, n_rows, n_cols, BLOCK: tl.constexpr):
    i, j = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    x_block = tl.make_block_ptr(x_ptr, (n_rows, n_cols), (x_row, x_column), (i, j), (BLOCK, BLOCK), (1, 0))
    out_block = tl.make_block_ptr(out_ptr, (n_cols, n_rows), (n_rows, 1), (j, i), (BLOCK, BLOCK), (1, 0))
    tile = tl.load(x_block, boundary_check=(0, 1), padding_option="zero")
    tl.store(out_block, tl.permute(tile, (1, 0)), boundary_check=(0, 1))


def transpose(x):
    n_rows, n_cols = x.shape
    out = torch.empty((n_cols, n_rows), dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(n_rows, 32), triton.cdiv(n_cols, 32))
    transpose_kernel[grid](x, out, *x.stride(), n_rows, n_cols, BLOCK=32)
    return out
