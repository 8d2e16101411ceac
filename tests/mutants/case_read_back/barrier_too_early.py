"""The barrier stands before the store."""
# expect: read_back

import torch
import triton
import triton.language as tl


@triton.jit
def differences_kernel(x_ptr, squares_ptr, out_ptr, x_row_stride, out_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * x_row_stride + columns, mask=mask, other=0.0)
    square = x * x
    square_ptrs = squares_ptr + row * out_row_stride + columns
    tl.debug_barrier()
    tl.store(square_ptrs, square, mask=mask)
    before = tl.load(square_ptrs - 1, mask=mask & (columns > 0), other=0.0)
    tl.store(out_ptr + row * out_row_stride + columns, square - before, mask=mask)


def case_read_back(x):
    n_rows, n_cols = x.shape
    squares = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    block_size = triton.next_power_of_2(n_cols)
    differences_kernel[(n_rows,)](x, squares, out, x.stride(0), out.stride(0), n_cols, BLOCK_SIZE=block_size)
    return out
