"""`tl.arange(0, n_cols)`: a tile as long as the row. The interpreter takes it, a compiler wants a constant power of two.

Happens in NumPy all the time.
"""
# expect: does_not_compile, crash

import torch
import triton
import triton.language as tl


@triton.jit
def row_variance_kernel(x_ptr, out_ptr, row_stride, column_stride, N_COLS: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * row_stride + tl.arange(0, N_COLS) * column_stride)
    distance = x - tl.sum(x, axis=0) / N_COLS
    tl.store(out_ptr + row, tl.sum(distance * distance, axis=0) / N_COLS)


def row_variance(x):
    out = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    row_variance_kernel[(x.shape[0],)](x, out, *x.stride(), N_COLS=x.shape[1])
    return out
