"""The difference of two squares is a product."""

import torch
import triton
import triton.language as tl


@triton.jit
def differences_kernel(x_ptr, out_ptr, x_row_stride, out_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x_ptrs = x_ptr + row * x_row_stride + columns
    x = tl.load(x_ptrs, mask=mask, other=0.0)
    before = tl.load(x_ptrs - 1, mask=mask & (columns > 0), other=0.0)
    tl.store(out_ptr + row * out_row_stride + columns, (x - before) * (x + before), mask=mask)


def case_read_back(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    differences_kernel[(n_rows,)](x, out, x.stride(0), out.stride(0), n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out
