"""The result seen as one long vector: each lane works out which element of `x` comes there."""

import torch
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(x_ptr, out_ptr, x_row, x_column, n_rows, total, BLOCK_SIZE: tl.constexpr):
    places = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = places < total
    x = tl.load(x_ptr + places % n_rows * x_row + places // n_rows * x_column, mask=mask)
    tl.store(out_ptr + places, x, mask=mask)


def transpose(x):
    out = torch.empty(x.shape[1], x.shape[0], device=x.device)
    transpose_kernel[(triton.cdiv(x.numel(), 512),)](x, out, *x.stride(), x.shape[0], x.numel(), BLOCK_SIZE=512)
    return out
