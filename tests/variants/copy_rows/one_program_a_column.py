"""One program copies one column, in a block that covers all rows."""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, row_stride, column_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr):
    column = tl.program_id(0)
    rows = tl.arange(0, BLOCK_SIZE)
    mask = rows < n_rows
    x = tl.load(x_ptr + rows * row_stride + column * column_stride, mask=mask)
    tl.store(out_ptr + rows * n_cols + column, x, mask=mask)


def copy_rows(x):
    m, n = x.shape
    out = torch.empty(m, n, dtype=x.dtype, device=x.device)
    copy_kernel[(n,)](x, out, *x.stride(), m, n, BLOCK_SIZE=triton.next_power_of_2(m))
    return out
