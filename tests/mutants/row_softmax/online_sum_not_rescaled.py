"""An online softmax whose sum is not scaled when the maximum grows: what was added before counts too much.

Happens to those who remember the running maximum and forget what it changes. Right for one block.
"""
# expect: scaled
# hint: must be scaled

import torch
import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(x_ptr, out_ptr, x_row, x_column, out_row, out_column, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_SIZE)
    highest = -float("inf")
    total = 0.0
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + lanes
        x = tl.load(x_ptr + row * x_row + columns * x_column, mask=columns < n_cols, other=-float("inf"))
        higher = tl.maximum(highest, tl.max(x, axis=0))
        base = tl.where(higher == -float("inf"), 0.0, higher)
        total += tl.sum(tl.exp(x - base), axis=0)
        highest = higher
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + lanes
        mask = columns < n_cols
        x = tl.load(x_ptr + row * x_row + columns * x_column, mask=mask, other=0.0)
        tl.store(out_ptr + row * out_row + columns * out_column, tl.exp(x - highest) / total, mask=mask)


def row_softmax(x):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    online_softmax_kernel[(x.shape[0],)](x, out, *x.stride(), *out.stride(), x.shape[1], BLOCK_SIZE=128)
    return out
