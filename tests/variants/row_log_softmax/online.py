"""Rows of any length in blocks of 256: one pass for the maximum and the sum, rescaled as it grows, and one that writes."""

import torch
import triton
import triton.language as tl


@triton.jit
def log_softmax_kernel(x_ptr, out_ptr, x_row, x_column, out_row, out_column, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_SIZE)
    highest = -float("inf")
    total = 0.0
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + lanes
        x = tl.load(x_ptr + row * x_row + columns * x_column, mask=columns < n_cols, other=-float("inf"))
        higher = tl.maximum(highest, tl.max(x, axis=0))
        base = tl.where(higher == -float("inf"), 0.0, higher)
        total = total * tl.exp(highest - base) + tl.sum(tl.exp(x - base), axis=0)
        highest = higher
    log_total = tl.log(total)
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + lanes
        mask = columns < n_cols
        x = tl.load(x_ptr + row * x_row + columns * x_column, mask=mask, other=0.0)
        tl.store(out_ptr + row * out_row + columns * out_column, x - highest - log_total, mask=mask)


def row_log_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    block = 256
    log_softmax_kernel[(n_rows,)](x, out, *x.stride(), *out.stride(), n_cols, BLOCK_SIZE=block)
    return out
