"""A tile for all the rows of a program instead of a loop over them: right, until there are a few more of them."""
# expect: not_as_asked

import torch
import triton
import triton.language as tl


@triton.jit
def tile_kernel(x_ptr, out_ptr, x_row, out_row, n_rows, n_cols, SHARE: tl.constexpr, BLOCK: tl.constexpr):
    rows = (tl.program_id(0) + tl.num_programs(0) * tl.arange(0, SHARE))[:, None]
    columns = tl.arange(0, BLOCK)[None, :]
    mask = (rows < n_rows) & (columns < n_cols)
    x = tl.load(x_ptr + rows * x_row + columns, mask=mask, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x, axis=1)[:, None])
    numerator = tl.where(mask, numerator, 0.0)
    tl.store(out_ptr + rows * out_row + columns, numerator / tl.sum(numerator, axis=1)[:, None], mask=mask)


def persistent_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n_programs = min(8, n_rows)
    if n_rows:
        share = triton.cdiv(n_rows, n_programs)
        block = triton.next_power_of_2(n_cols)
        strides = x.stride(0), out.stride(0)
        tile_kernel[(n_programs,)](x, out, *strides, n_rows, n_cols, triton.next_power_of_2(share), block)
    return out
