"""The load is masked, and nothing says what the spare lanes hold.

Happens because today's GPUs put zeros there.
"""
# expect: undefined_lanes
# hint: with `other=`

import torch
import triton
import triton.language as tl


@triton.jit
def long_row_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK_SIZE], tl.float32)
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        total += tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols)
    tl.store(out_ptr + row, tl.sum(total, axis=0))


def long_row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    long_row_sum_kernel[(n_rows,)](x, out, *x.stride(), n_cols, BLOCK_SIZE=1024)
    return out
