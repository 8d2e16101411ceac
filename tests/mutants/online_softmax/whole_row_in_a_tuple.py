"""Every block of the row is loaded once and kept, by a loop that is unrolled: the row is held in registers after all."""
# expect: not_as_asked

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(
    x_ptr, out_ptr, x_row, x_column, out_row, out_column, n_cols, BLOCK_SIZE: tl.constexpr, BLOCKS: tl.constexpr
):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_SIZE)
    blocks = ()
    for block in tl.static_range(BLOCKS):
        columns = block * BLOCK_SIZE + lanes
        x_ptrs = x_ptr + row * x_row + columns * x_column
        blocks = blocks + (tl.load(x_ptrs, mask=columns < n_cols, other=-float("inf")),)
    highest = blocks[0]
    for block in tl.static_range(1, BLOCKS):
        highest = tl.maximum(highest, blocks[block])
    maximum = tl.max(highest, axis=0)
    totals = tl.exp(blocks[0] - maximum)
    for block in tl.static_range(1, BLOCKS):
        totals += tl.exp(blocks[block] - maximum)
    total = tl.sum(totals, axis=0)
    for block in tl.static_range(BLOCKS):
        columns = block * BLOCK_SIZE + lanes
        share = tl.exp(blocks[block] - maximum) / total
        tl.store(out_ptr + row * out_row + columns * out_column, share, mask=columns < n_cols)


def online_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    softmax_kernel[(n_rows,)](x, out, *x.stride(), *out.stride(), n_cols, BLOCK_SIZE=512, BLOCKS=triton.cdiv(n_cols, 512))
    return out
