"""`tl.dot` of a column and a row, both padded to 16 along K: right, but for what tf32 cuts off.

Happens because a product of matrices looks like the way to do it. fp32 factors lose 13 of their binary digits.
"""
# expect: mismatch
# hint: no `tl.dot`

import torch
import triton
import triton.language as tl


@triton.jit
def outer_kernel(a_ptr, b_ptr, out_ptr, m, n, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + rows, mask=rows < m, other=0.0)
    b = tl.load(b_ptr + columns, mask=columns < n, other=0.0)
    first = tl.arange(0, 16) == 0
    column = tl.where(first[None, :], a[:, None], 0.0)
    row = tl.where(first[:, None], b[None, :], 0.0)
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(out_ptr + rows[:, None] * n + columns[None, :], tl.dot(column, row), mask=mask)


def outer(a, b):
    m, n = a.numel(), b.numel()
    out = torch.empty((m, n), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
    outer_kernel[grid](a, b, out, m, n, BLOCK=32)
    return out
