"""An online softmax that computes −inf − (−inf) when a row begins with a block of −inf: NaN, and it stays.

Happened where attention masks hide the beginning of a row.
"""
# expect: nan
# hint: −inf − (−inf)

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
        total = total * tl.exp(highest - higher) + tl.sum(tl.exp(x - higher), axis=0)
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
