"""The maximum so far begins as a whole number, far below everything, and becomes a float in the loop.

Happens in Python all the time. In a kernel a variable keeps its type.
"""
# expect: does_not_compile

import torch
import triton
import triton.language as tl


@triton.jit
def row_max_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    so_far = -2147483648
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=-float("inf"))
        so_far = tl.maximum(so_far, tl.max(x, axis=0))
    tl.store(out_ptr + row, so_far)


def row_max(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_max_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=64)
    return out
