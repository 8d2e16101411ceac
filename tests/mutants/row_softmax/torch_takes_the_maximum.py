"""The row maxima come from torch, and one kernel does the rest.

Happens when the first reduction of the kernel did not work. It reads all of `x` once more.
"""
# expect: torch_compute

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, maxima_ptr, out_ptr, x_row, x_column, out_row, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * x_row + columns * x_column, mask=mask, other=-float("inf"))
    numerator = tl.exp(x - tl.load(maxima_ptr + row))
    tl.store(out_ptr + row * out_row + columns, numerator / tl.sum(numerator, axis=0), mask=mask)


def row_softmax(x):
    n_rows, n_cols = x.shape
    maxima = x.amax(dim=1)
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(n_cols)
    softmax_kernel[(n_rows,)](x, maxima, out, *x.stride(), out.stride(0), n_cols, BLOCK_SIZE=block)
    return out
