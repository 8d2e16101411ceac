"""Persistent programs, two for each multiprocessor that torch tells of."""

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr):
    columns = tl.arange(0, BLOCK_SIZE)
    for row in range(tl.program_id(0), n_rows, tl.num_programs(0)):
        total = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)
        for start in range(0, n_cols, BLOCK_SIZE):
            inside = start + columns < n_cols
            total += tl.load(x_ptr + row * row_stride + (start + columns) * column_stride, mask=inside, other=0.0)
        tl.store(out_ptr + row, tl.sum(total, axis=0))


def row_sum(x):
    device = torch.device("cuda", torch.cuda.current_device())
    assert x.device == device, f"x is on {x.device}"
    programs = 2 * torch.cuda.get_device_properties(device).multi_processor_count
    out = torch.empty(x.shape[0], dtype=x.dtype, device=device)
    row_sum_kernel[(min(programs, x.shape[0]),)](x, out, *x.stride(), *x.shape, BLOCK_SIZE=128)
    return out
