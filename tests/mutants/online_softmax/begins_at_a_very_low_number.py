"""The maximum begins at −10³⁰, which is above some fp32 numbers."""
# expect: nan, constant, mismatch
# hint: These scores are −1.7

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_row, x_column, out_row, out_column, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    maximum = -1e30
    total = 0.0
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        x_ptrs = x_ptr + row * x_row + columns * x_column
        x = tl.load(x_ptrs, mask=columns < n_cols, other=-float("inf"))
        higher = tl.maximum(maximum, tl.max(x, axis=0))
        safe = tl.where(higher == -float("inf"), 0.0, higher)
        total = total * tl.exp(maximum - safe) + tl.sum(tl.exp(x - safe), axis=0)
        maximum = higher
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
