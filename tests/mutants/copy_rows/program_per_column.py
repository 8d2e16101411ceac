"""The grid counts columns where the kernel expects rows.

Happens with square test matrices, for which `x.shape[0]` and `x.shape[1]` are the same.
"""
# expect: load_out_of_bounds
# hint: (n_rows,)

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask, other=0.0)
    tl.store(out_ptr + row * n_cols + columns, x, mask=mask)


def copy_rows(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, n_cols, dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(n_cols)
    copy_kernel[(n_cols,)](x, out, x.stride(0), x.stride(1), n_cols, BLOCK_SIZE=block)
    return out
