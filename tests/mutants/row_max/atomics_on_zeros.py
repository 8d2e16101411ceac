"""Programs share a row and meet in `tl.atomic_max`, on a result that begins as zeros.

Happens because `torch.zeros` is what sums begin with.
"""
# expect: mismatch, constant
# hint: 0 wins

import torch
import triton
import triton.language as tl


@triton.jit
def share_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=-float("inf"))
    tl.atomic_max(out_ptr + row, tl.max(x, axis=0))


def row_max(x):
    n_rows, n_cols = x.shape
    out = torch.zeros(n_rows, dtype=x.dtype, device=x.device)
    share_kernel[(n_rows, triton.cdiv(n_cols, 128))](x, out, *x.stride(), n_cols, BLOCK_SIZE=128)
    return out
