"""Two kernels: the first writes one partial sum for each chunk of 300 columns, the second adds a row's partial sums."""

import torch
import triton
import triton.language as tl

CHUNK = 300


@triton.jit
def chunks_kernel(x_ptr, partial_ptr, row_stride, column_stride, n_cols, n_chunks, chunk, BLOCK_SIZE: tl.constexpr):
    row, number = tl.program_id(1), tl.program_id(0)
    lanes = tl.arange(0, BLOCK_SIZE)
    columns = number * chunk + lanes
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=(lanes < chunk) & (columns < n_cols), other=0)
    tl.store(partial_ptr + row * n_chunks + number, tl.sum(x))


@triton.jit
def finish_kernel(partial_ptr, out_ptr, n_chunks, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    numbers = tl.arange(0, BLOCK_SIZE)
    partial = tl.load(partial_ptr + row * n_chunks + numbers, mask=numbers < n_chunks)
    tl.store(out_ptr + row, tl.sum(tl.where(numbers < n_chunks, partial, 0.0)))


def row_sum(x):
    n_rows, n_cols = x.shape
    n_chunks = triton.cdiv(n_cols, CHUNK)
    partial = torch.empty(n_rows, n_chunks, device=x.device)
    out = torch.empty(n_rows, device=x.device)
    chunks_kernel[(n_chunks, n_rows)](x, partial, *x.stride(), n_cols, n_chunks, CHUNK, BLOCK_SIZE=512)
    finish_kernel[(n_rows,)](partial, out, n_chunks, BLOCK_SIZE=triton.next_power_of_2(n_chunks))
    return out
