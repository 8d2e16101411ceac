"""As many programs as an H100 has multiprocessors, 132 at most, and no loop over the rows that are left."""
# expect: unwritten

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
    softmax_kernel[(min(n_rows, 132),)](x, out, *x.stride(), *out.stride(), n_cols, BLOCK_SIZE=256)
    return out
