"""Programs that loop over rows, with one accumulator for all of them: each row's sum holds those of the rows before it.

Happens when a loop over rows is put around a kernel that was right for one. With more programs than rows it still is.
"""
# expect: first_block_only

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr):
    columns = tl.arange(0, BLOCK_SIZE)
    total = 0.0
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=0.0)
        total += tl.sum(x, axis=0)
        tl.store(out_ptr + row, total)


def row_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    row_sum_kernel[(8,)](x, out, *x.stride(), n_rows, n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out
