"""The strides are ignored: row i begins at `i * n_cols`, and its elements are neighbours.

Happened to norms and attention kernels that met a transposed, sliced or expanded input years after they were written.
"""
# expect: load_out_of_bounds
# hint: column_stride

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * n_cols + columns, mask=mask, other=0.0)
    tl.store(out_ptr + row * n_cols + columns, x, mask=mask)


def copy_rows(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, n_cols, dtype=x.dtype, device=x.device)
    copy_kernel[(n_rows,)](x, out, n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out
