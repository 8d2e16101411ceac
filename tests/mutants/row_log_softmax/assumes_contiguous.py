"""One stride, that of a contiguous tensor, for input and result.

Happens where only fresh tensors are tried. A transposed view is read in the wrong order.
"""
# expect: mismatch, load_out_of_bounds

import torch
import triton
import triton.language as tl


@triton.jit
def log_softmax_kernel(x_ptr, out_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * n_cols + columns, mask=mask, other=-float("inf"))
    x = x - tl.max(x, axis=0)
    tl.store(out_ptr + row * n_cols + columns, x - tl.log(tl.sum(tl.exp(x), axis=0)), mask=mask)


def row_log_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    log_softmax_kernel[(n_rows,)](x, out, n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out
