"""Each lane keeps a maximum and a sum of its own; the lanes' pairs are merged when the row is through."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_row, x_column, out_row, out_column, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    maximum = tl.full((BLOCK_SIZE,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_SIZE,), tl.float32)
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        x_ptrs = x_ptr + row * x_row + columns * x_column
        x = tl.load(x_ptrs, mask=columns < n_cols, other=-float("inf"))
        higher = tl.maximum(maximum, x)
        safe = tl.where(higher == -float("inf"), 0.0, higher)
        total = total * tl.exp(maximum - safe) + tl.exp(x - safe)
        maximum = higher
    highest = tl.max(maximum, axis=0)
    safe = tl.where(highest == -float("inf"), 0.0, highest)
    total = tl.sum(total * tl.exp(maximum - safe), axis=0)
    maximum = highest
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        mask = columns < n_cols
        x = tl.load(x_ptr + row * x_row + columns * x_column, mask=mask, other=-float("inf"))
        share = tl.exp(x - maximum) / total
        tl.store(out_ptr + row * out_row + columns * out_column, share, mask=mask)


def online_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    softmax_kernel[(n_rows,)](x, out, *x.stride(), *out.stride(), n_cols, BLOCK_SIZE=256)
    return out
