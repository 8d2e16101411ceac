"""A grid of at most 256 programs, one a row, and no loop over the rows."""
# expect: unwritten

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        mask = columns < n_cols
        x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask)
        tl.store(out_ptr + row * n_cols + columns, x, mask=mask)


def copy_rows(x):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    copy_kernel[(min(x.shape[0], 256),)](x, out, *x.stride(), x.shape[1], BLOCK_SIZE=128)
    return out
