"""1 / n_cols everywhere: each row adds up to 1, and `x` is never looked at.

Passes a check of the row sums, and for wide rows a generous tolerance.
"""
# expect: constant

import torch
import triton
import triton.language as tl


@triton.jit
def shares_kernel(out_ptr, out_row, out_column, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    share = tl.full((BLOCK_SIZE,), 1.0, tl.float32) / n_cols
    tl.store(out_ptr + row * out_row + columns * out_column, share, mask=columns < n_cols)


def row_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    shares_kernel[(n_rows,)](out, *out.stride(), n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out
