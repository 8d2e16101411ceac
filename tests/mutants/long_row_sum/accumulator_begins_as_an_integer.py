"""`total = 0` is an integer, and a float is added to it in the loop: the interpreter does not mind, a compiler does.

Happens in Python all the time.
"""
# expect: does_not_compile
# hint: 0.0

import torch
import triton
import triton.language as tl


@triton.jit
def long_row_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    total = 0
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        total += tl.sum(tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=0.0), axis=0)
    tl.store(out_ptr + row, total)


def long_row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    long_row_sum_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=1024)
    return out
