"""A row gets 100 blocks at most."""
# expect: unwritten
# hint: Are whole blocks missing

import torch
import triton
import triton.language as tl


@triton.jit
def scale_rows_kernel(x_ptr, factors_ptr, row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    columns = tl.program_id(axis=1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x_ptrs = x_ptr + row * row_stride + columns
    mask = columns < n_cols
    x = tl.load(x_ptrs, mask=mask, other=0.0)
    tl.store(x_ptrs, x * tl.load(factors_ptr + row), mask=mask)


def case_local_mask(x, factors):
    n_rows, n_cols = x.shape
    out = x.clone()
    grid = (n_rows, min(triton.cdiv(n_cols, 8), 100))
    scale_rows_kernel[grid](out, factors, out.stride(0), n_cols, BLOCK_SIZE=8)
    return out
