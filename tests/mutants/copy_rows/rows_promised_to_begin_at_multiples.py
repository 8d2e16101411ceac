"""The compiler is told that each row begins at a multiple of 4 elements: true for some widths, and false for most.

Happens where rows are padded elsewhere. On a GPU four elements are then loaded at once, from an address that does not allow it.
"""
# expect: false_promise

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    begin = tl.multiple_of(row * row_stride, 4)
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        mask = columns < n_cols
        x = tl.load(x_ptr + begin + columns * column_stride, mask=mask)
        tl.store(out_ptr + row * n_cols + columns, x, mask=mask)


def copy_rows(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    copy_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=128)
    return out
