"""exp(x − (maximum + log(sum))): the logarithm of the sum takes the place of the division."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask, other=float("-inf"))
    x -= tl.max(x, 0)
    x -= tl.log(tl.sum(tl.exp(x), 0))
    tl.store(out_ptr + row * n_cols + columns, tl.exp(x), mask=mask)


def row_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty((n_rows, n_cols), device=x.device)
    softmax_kernel[lambda meta: (n_rows,)](x, out, x.stride(0), x.stride(1), n_cols, triton.next_power_of_2(n_cols))
    return out
