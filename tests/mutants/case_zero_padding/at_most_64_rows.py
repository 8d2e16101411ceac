"""No more than 64 rows get a program."""
# expect: unwritten

import torch
import triton
import triton.language as tl


@triton.jit
def log_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x_ptrs = x_ptr + row * row_stride + columns * column_stride
    x = tl.load(x_ptrs, mask=mask, other=-float("inf"))
    largest = tl.max(x, axis=0)
    total = tl.sum(tl.exp(x - largest), axis=0)
    tl.store(out_ptr + row, largest + tl.log(total))


def case_zero_padding(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=x.dtype, device=x.device)
    log_sum_kernel[(min(n_rows, 64),)](x, out, *x.stride(), n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out
