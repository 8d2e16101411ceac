"""The block covers a whole row, and the launches go row by row from Python, each on a view of one row."""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_vector_kernel(x_ptr, out_ptr, stride, n, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    mask = lanes < n
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes * stride, mask=mask), mask=mask)


def copy_rows(x):
    m, n = x.shape
    out = torch.empty(m, n, dtype=x.dtype, device=x.device)
    for i in range(m):
        copy_vector_kernel[(1,)](x[i], out[i], x.stride(1), n, BLOCK_SIZE=triton.next_power_of_2(n))
    return out
