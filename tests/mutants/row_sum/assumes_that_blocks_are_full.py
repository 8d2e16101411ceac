"""`tl.assume` says that rows consist of whole blocks, in a kernel that masks the last one anyway.

Happens where an assumption stays behind from an earlier version. The compiler may take the mask for true.
"""
# expect: false_promise

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, row_stride, column_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    tl.assume(n_cols % BLOCK_SIZE == 0)
    begin = x_ptr + tl.program_id(0) * row_stride
    total = 0.0
    for start in tl.range(0, n_cols, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        total += tl.sum(tl.load(begin + columns * column_stride, mask=columns < n_cols, other=0.0))
    tl.store(out_ptr + tl.program_id(0), total)


def row_sum(x):
    out = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    row_sum_kernel[(x.shape[0],)](x, out, *x.stride(), x.shape[1], BLOCK_SIZE=64)
    return out
