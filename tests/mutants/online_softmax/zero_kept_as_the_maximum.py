"""After a block of −∞ the maximum is taken to be 0, also where only scores far below 0 follow: their sum is 0."""
# expect: nan

import math
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_row, x_column, out_row, out_column, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    maximum = -float("inf")
    total = 0.0
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_ptr + row * x_row + columns * x_column, mask=columns < n_cols, other=-float("inf"))
        higher = tl.maximum(maximum, tl.max(x, axis=0))
        safe = tl.where(higher == -float("inf"), 0.0, higher)
        total = total * tl.exp(maximum - safe) + tl.sum(tl.exp(x - safe), axis=0)
        maximum = safe
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_ptr + row * x_row + columns * x_column, mask=columns < n_cols, other=-float("inf"))
        tl.store(out_ptr + row * out_row + columns * out_column, tl.exp(x - maximum) / total, mask=columns < n_cols)


def online_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    softmax_kernel[(n_rows,)](x, out, *x.stride(), *out.stride(), n_cols, BLOCK_SIZE=1024)
    return out
