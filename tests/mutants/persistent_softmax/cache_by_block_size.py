"""Keeps compiled kernels by the size of their block alone. Alignment, dtype and a number that was 1 are compiled in, too.

On a GPU: 1024 columns and then 781 are a "misaligned address", one row and then many leave rows out.
"""
# expect: crash
# hint: Let Triton look

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
    if block not in kernels:
        kernels[block] = softmax_kernel.warmup(*arguments, num_warps=8, grid=(1,))
    kernels[block][min(8, n_rows), 1, 1](*arguments)
    return out
