"""One program a row, with a loop over blocks of 64 columns; the result's strides are passed as well."""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, x_row, x_column, out_row, out_column, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        mask = columns < n_cols
        x = tl.load(x_ptr + row * x_row + columns * x_column, mask=mask)
        tl.store(out_ptr + row * out_row + columns * out_column, x, mask=mask)


def copy_rows(x):
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    copy_kernel[(x.shape[0],)](x, out, *x.stride(), *out.stride(), x.shape[1], BLOCK_SIZE=64)
    return out
