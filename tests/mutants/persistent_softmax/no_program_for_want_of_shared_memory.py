"""Divides a budget of shared memory by what one program takes, rounded down to no programs at all, and starts none."""
# expect: unwritten
# hint: at least 1

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


def persistent_softmax(x):
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(n_cols)
    budget = 48 * 1024
    taken = 16 * block * x.element_size()
    grid = (min(8, budget // taken, n_rows),)
    softmax_kernel[grid](x, out, x.stride(0), out.stride(0), n_rows, n_cols, BLOCK_SIZE=block)
    return out
