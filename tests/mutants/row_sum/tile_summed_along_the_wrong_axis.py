"""A square tile summed along axis 0: the shapes fit, and the sums are those of the columns.

Happens with square tiles, where no compiler can tell the axes apart.
"""
# expect: mismatch

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, n_rows, n_cols, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in tl.range(0, n_cols, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = (rows[:, None] < n_rows) & (columns[None, :] < n_cols)
        x = tl.load(x_ptr + rows[:, None] * row_stride + columns[None, :] * column_stride, mask=mask, other=0.0)
        total += tl.sum(x, axis=0)
    tl.store(out_ptr + rows, total, mask=rows < n_rows)


def row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_sum_kernel[(triton.cdiv(n_rows, 32),)](x, out, *x.stride(), n_rows, n_cols, BLOCK=32)
    return out
