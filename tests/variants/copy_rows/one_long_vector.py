"""The result seen as one long vector: row and column are worked out from each element's number."""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    rows = offsets // n_cols
    columns = offsets % n_cols
    x = tl.load(x_ptr + rows * row_stride + columns * column_stride, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x, mask=mask)


def copy_rows(x):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n = x.numel()
    copy_kernel[(triton.cdiv(n, 256),)](x, out, x.stride(0), x.stride(1), x.shape[1], n, BLOCK_SIZE=256)
    return out
