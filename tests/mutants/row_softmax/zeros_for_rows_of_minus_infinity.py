"""A row of nothing but −inf gives zeros. Many attention kernels want that; torch's softmax says NaN, and torch is the definition.

Happens with a guard against 0 / 0.
"""
# expect: mismatch
# hint: need no care

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_row, x_column, out_row, out_column, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * x_row + columns * x_column, mask=mask, other=-float("inf"))
    highest = tl.max(x, axis=0)
    numerator = tl.exp(x - tl.where(highest == -float("inf"), 0.0, highest))
    total = tl.sum(numerator, axis=0)
    y = numerator / tl.where(total == 0.0, 1.0, total)
    tl.store(out_ptr + row * out_row + columns * out_column, y, mask=mask)


def row_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(n_cols)
    softmax_kernel[(n_rows,)](x, out, *x.stride(), *out.stride(), n_cols, BLOCK_SIZE=block)
    return out
