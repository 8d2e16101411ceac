"""Allocates where torch's device context says, and asks for the device in every way that torch knows."""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        mask = columns < n_cols
        x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask, other=0.0)
        tl.store(out_ptr + row * n_cols + columns, x, mask=mask)


def copy_rows(x):
    assert x.device.type == "cuda" and not x.is_cpu and str(x.device) == f"cuda:{x.device.index}"
    with torch.device("cuda"):
        out = torch.empty(x.shape, dtype=x.dtype)
    assert out.device == x.device and x.to("cuda") is x
    copy_kernel[(x.shape[0],)](x, out, *x.stride(), x.shape[1], BLOCK_SIZE=64)
    return out
