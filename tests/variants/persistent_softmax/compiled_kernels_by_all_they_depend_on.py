"""Keeps compiled kernels by everything that they were compiled for, and launches them with all their arguments."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_row_stride, out_row_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr):
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * x_row_stride + columns, mask=mask, other=-float("inf"))
        numerator = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * out_row_stride + columns, numerator / tl.sum(numerator, axis=0), mask=mask)


kernels = {}


def persistent_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(n_cols)
    arguments = x, out, x.stride(0), out.stride(0), n_rows, n_cols, block
    numbers = x.stride(0), n_rows, n_cols
    key = x.device, x.dtype, block, x.data_ptr() % 16, *((n == 1, n % 16 == 0) for n in numbers)
    if key not in kernels:
        kernels[key] = softmax_kernel.warmup(*arguments, num_warps=8, grid=(1,))
    kernels[key][min(8, n_rows), 1, 1](*arguments)
    return out
