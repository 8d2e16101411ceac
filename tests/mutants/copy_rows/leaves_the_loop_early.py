"""A loop over the blocks of a row that is left with `break`: fine in the interpreter, refused by the compiler.

Happens when Python's habits are taken into a kernel. A loop there ends where its range ends.
"""
# expect: does_not_compile
# hint: left early

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, 2 * n_cols, BLOCK_SIZE):
        if start >= n_cols:
            break
        columns = start + tl.arange(0, BLOCK_SIZE)
        mask = columns < n_cols
        x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask, other=0.0)
        tl.store(out_ptr + row * n_cols + columns, x, mask=mask)


def copy_rows(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, n_cols, dtype=x.dtype, device=x.device)
    copy_kernel[(n_rows,)](x, out, x.stride(0), x.stride(1), n_cols, BLOCK_SIZE=64)
    return out
