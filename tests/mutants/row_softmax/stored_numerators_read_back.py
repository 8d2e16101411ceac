"""The numerators are stored first, and loaded again to be divided by their sum.

Happens to those who think of the result as the place for intermediate values. Another thread may load before the store.
"""
# expect: read_back
# hint: in a variable

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_row, x_column, out_row, out_column, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    place = out_ptr + row * out_row + columns * out_column
    x = tl.load(x_ptr + row * x_row + columns * x_column, mask=mask, other=-float("inf"))
    tl.store(place, tl.exp(x - tl.max(x, axis=0)), mask=mask)
    numerator = tl.load(place, mask=mask, other=0.0)
    tl.store(place, numerator / tl.sum(numerator, axis=0), mask=mask)


def row_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(n_cols)
    softmax_kernel[(n_rows,)](x, out, *x.stride(), *out.stride(), n_cols, BLOCK_SIZE=block)
    return out
