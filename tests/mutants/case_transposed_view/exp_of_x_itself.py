"""x · eˣ / (1 + eˣ), which is ∞/∞ for large x."""
# expect: nan
# hint: 1/∞ is 0

import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(
    x_ptr,
    out_ptr,
    x_row_stride,
    x_column_stride,
    out_row_stride,
    out_column_stride,
    n_cols,
    BLOCK_SIZE: tl.constexpr,
):
    row = tl.program_id(axis=0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * x_row_stride + columns * x_column_stride, mask=mask, other=0.0)
    out_ptrs = out_ptr + row * out_row_stride + columns * out_column_stride
    tl.store(out_ptrs, x * (tl.exp(x) / (1 + tl.exp(x))), mask=mask)


def case_transposed_view(x):
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    silu_kernel[(n_rows,)](x, out, *x.stride(), *out.stride(), n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out
