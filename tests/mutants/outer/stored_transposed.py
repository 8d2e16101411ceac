"""The tile goes to the places of the transposed result, which has N rows; the shape is M × N all the same."""
# expect: transposed, mismatch, shifted, periodic

import torch
import triton
import triton.language as tl


@triton.jit
def outer_kernel(a_ptr, b_ptr, out_ptr, m, n, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + rows, mask=rows < m, other=0.0)
    b = tl.load(b_ptr + columns, mask=columns < n, other=0.0)
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(out_ptr + columns[None, :] * m + rows[:, None], a[:, None] * b[None, :], mask=mask)


def outer(a, b):
    m, n = a.numel(), b.numel()
    out = torch.empty((m, n), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
    outer_kernel[grid](a, b, out, m, n, BLOCK=32)
    return out
