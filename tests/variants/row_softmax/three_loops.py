"""Three loops over blocks of 512 columns: the maximum, the sum, the result. Lane by lane until each loop's end."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, row_stride, column_stride, out_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    x_row = x_ptr + tl.program_id(0) * row_stride
    out_row = out_ptr + tl.program_id(0) * out_stride
    lanes = tl.arange(0, BLOCK_SIZE)
    highest = tl.full((BLOCK_SIZE,), -float("inf"), tl.float32)
    for start in range(0, n_cols, BLOCK_SIZE):
        x = tl.load(x_row + (start + lanes) * column_stride, mask=start + lanes < n_cols, other=-float("inf"))
        highest = tl.maximum(highest, x)
    maximum = tl.max(highest, axis=0)
    total = tl.zeros((BLOCK_SIZE,), tl.float32)
    for start in range(0, n_cols, BLOCK_SIZE):
        x = tl.load(x_row + (start + lanes) * column_stride, mask=start + lanes < n_cols, other=-float("inf"))
        total += tl.exp(x - maximum)
    inverse = 1.0 / tl.sum(total, axis=0)
    for start in range(0, n_cols, BLOCK_SIZE):
        mask = start + lanes < n_cols
        x = tl.load(x_row + (start + lanes) * column_stride, mask=mask, other=0.0)
        tl.store(out_row + start + lanes, tl.exp(x - maximum) * inverse, mask=mask)


def row_softmax(x):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    softmax_kernel[(x.shape[0],)](x, out, x.stride(0), x.stride(1), out.stride(0), x.shape[1], BLOCK_SIZE=512)
    return out
