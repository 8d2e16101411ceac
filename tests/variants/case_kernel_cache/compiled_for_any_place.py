"""Compiled kernels are kept, and take tensors that begin anywhere, and any number: neither is in the key."""

import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["x_row_stride", "out_row_stride", "n_cols"], do_not_specialize_on_alignment=["x_ptr", "out_ptr"])
def softmax_rows_kernel(x_ptr, out_ptr, x_row_stride, out_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(axis=0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * x_row_stride + columns, mask=mask, other=-float("inf"))
    x = x.to(tl.float32)
    numerator = tl.exp(x - tl.max(x, axis=0))
    share = numerator / tl.sum(numerator, axis=0)
    tl.store(out_ptr + row * out_row_stride + columns, share, mask=mask)


kept = {}


def case_kernel_cache(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    block_size = triton.next_power_of_2(n_cols)
    arguments = (x, out, x.stride(0), out.stride(0), n_cols, block_size)
    key = (x.dtype, block_size)
    if key not in kept:
        kept[key] = softmax_rows_kernel.warmup(*arguments, grid=(1,))
    kept[key][(n_rows, 1, 1)](*arguments)
    return out
