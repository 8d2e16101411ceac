"""The vector seen as rows of 8: a tile of 16 × 8, with 64-bit offsets."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * ROWS * COLUMNS
    offsets = start + tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def vector_add(x, y):
    n = x.numel()
    out = torch.empty_strided((n,), (1,), dtype=x.dtype, device=x.device)
    add_kernel[(triton.cdiv(n, 128),)](x, y, out, n, 16, 8)
    return out
