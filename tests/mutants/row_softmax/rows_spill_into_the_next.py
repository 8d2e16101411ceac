"""No store mask, with room for the last row's spill: nothing lies out of bounds, and two programs write the same elements.

Happened in a public puzzle. In order, the next row repairs the damage; on a GPU there is no order.
"""
# expect: race

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_row, x_column, out_row, out_column, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * x_row + columns * x_column, mask=mask, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x, axis=0))
    y = numerator / tl.sum(numerator, axis=0)
    tl.store(out_ptr + row * out_row + columns * out_column, y)


def row_softmax(x):
    n_rows, n_cols = x.shape
    block = triton.next_power_of_2(n_cols)
    buffer = torch.empty(n_rows * n_cols + block, dtype=x.dtype, device=x.device)
    out = buffer[: n_rows * n_cols].view(n_rows, n_cols)
    softmax_kernel[(n_rows,)](x, buffer, *x.stride(), n_cols, 1, n_cols, BLOCK_SIZE=block)
    return out
