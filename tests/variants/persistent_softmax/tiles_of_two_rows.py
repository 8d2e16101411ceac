"""Two rows at a time, as tiles, in a loop."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_row, out_row, n_rows, n_cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)[None, :]
    for first in tl.range(tl.program_id(0) * ROWS, n_rows, tl.num_programs(0) * ROWS):
        rows = first + tl.arange(0, ROWS)[:, None]
        mask = (rows < n_rows) & (columns < n_cols)
        x = tl.load(x_ptr + rows * x_row + columns, mask=mask, other=-float("inf"))
        numerator = tl.exp(x - tl.max(x, axis=1)[:, None])
        tl.store(out_ptr + rows * out_row + columns, numerator / tl.sum(numerator, axis=1)[:, None], mask=mask)


def persistent_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(n_cols)
    grid = (min(5, n_rows),)
    softmax_kernel[grid](x, out, x.stride(0), out.stride(0), n_rows, n_cols, ROWS=2, BLOCK=block)
    return out
