"""One program a row, which is one number times a vector; it loops over the columns."""

import torch
import triton
import triton.language as tl


@triton.jit
def outer_kernel(a_ptr, b_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    factor = tl.load(a_ptr + row)
    for start in range(0, n, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        mask = columns < n
        b = tl.load(b_ptr + columns, mask=mask, other=0.0)
        tl.store(out_ptr + row * n + columns, factor * b, mask=mask)


def outer(a, b):
    out = torch.empty(a.shape[0], b.shape[0], device=a.device)
    outer_kernel[(a.shape[0],)](a, b, out, b.shape[0], BLOCK_SIZE=128)
    return out
