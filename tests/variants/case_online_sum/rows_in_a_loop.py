"""A few programs share out the rows, and the row that a loop has come to is cast to 64 bits, as it may be where it is compiled."""

import torch
import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(x_ptr, out_ptr, x_row_stride, out_row_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    for row in range(tl.program_id(axis=0), n_rows, tl.num_programs(axis=0)):
        x_row = x_ptr + row.to(tl.int64) * x_row_stride
        best = tl.full([BLOCK_SIZE], -3.4028234663852886e38, dtype=tl.float32)
        total = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
        for start in tl.range(0, n_cols, BLOCK_SIZE):
            columns = start + lanes
            x = tl.load(x_row + columns, mask=columns < n_cols, other=-float("inf"))
            larger = tl.maximum(best, x)
            total = total * tl.exp(best - larger) + tl.exp(x - larger)
            best = larger
        largest = tl.max(best, axis=0)
        denominator = tl.sum(total * tl.exp(best - largest), axis=0)
        for start in tl.range(0, n_cols, BLOCK_SIZE):
            columns = start + lanes
            x = tl.load(x_row + columns, mask=columns < n_cols, other=-float("inf"))
            share = tl.exp(x - largest) / denominator
            tl.store(out_ptr + row.to(tl.int64) * out_row_stride + columns, share, mask=columns < n_cols)


def case_online_sum(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    online_softmax_kernel[(min(n_rows, 7),)](x, out, x.stride(0), out.stride(0), n_rows, n_cols, BLOCK_SIZE=64)
    return out
