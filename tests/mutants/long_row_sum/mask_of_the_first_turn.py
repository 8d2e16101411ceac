"""The mask is computed before the loop, for the first block, and used in every turn.

Happens when what seems not to change is moved out of a loop.
"""
# expect: load_out_of_bounds
# hint: in each turn

import torch
import triton
import triton.language as tl


@triton.jit
def long_row_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_SIZE)
    mask = lanes < n_cols
    total = tl.zeros([BLOCK_SIZE], tl.float32)
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        x = tl.load(x_ptr + row * row_stride + (start + lanes) * column_stride, mask=mask, other=0.0)
        total += x
    tl.store(out_ptr + row, tl.sum(total, axis=0))


def long_row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    long_row_sum_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=256)
    return out
