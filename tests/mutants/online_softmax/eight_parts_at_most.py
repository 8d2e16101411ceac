"""Of a row's parts, the pairs of the first eight are merged, however many there are."""
# expect: scaled, mismatch
# hint: A row has any length

import torch
import triton
import triton.language as tl


@triton.jit
def pairs_kernel(x_ptr, maxima_ptr, totals_ptr, x_row, x_column, n_cols, n_parts, PART: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    columns = part * PART + tl.arange(0, PART)
    x = tl.load(x_ptr + row * x_row + columns * x_column, mask=columns < n_cols, other=-float("inf"))
    maximum = tl.max(x, axis=0)
    safe = tl.where(maximum == -float("inf"), 0.0, maximum)
    tl.store(maxima_ptr + row * n_parts + part, maximum)
    tl.store(totals_ptr + row * n_parts + part, tl.sum(tl.exp(x - safe), axis=0))


@triton.jit
def shares_kernel(
    x_ptr, out_ptr, maxima_ptr, totals_ptr, x_row, x_column, out_row, out_column, n_cols, n_parts,
    PART: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    row, part = tl.program_id(0), tl.program_id(1)
    parts = tl.arange(0, PARTS)
    maxima = tl.load(maxima_ptr + row * n_parts + parts, mask=parts < n_parts, other=-float("inf"))
    totals = tl.load(totals_ptr + row * n_parts + parts, mask=parts < n_parts, other=0.0)
    maximum = tl.max(maxima, axis=0)
    safe = tl.where(maximum == -float("inf"), 0.0, maximum)
    total = tl.sum(totals * tl.exp(maxima - safe), axis=0)
    columns = part * PART + tl.arange(0, PART)
    x = tl.load(x_ptr + row * x_row + columns * x_column, mask=columns < n_cols, other=0.0)
    share = tl.exp(x - maximum) / total
    tl.store(out_ptr + row * out_row + columns * out_column, share, mask=columns < n_cols)


def online_softmax(x):
    n_rows, n_cols = x.shape
    n_parts = triton.cdiv(n_cols, 1024)
    maxima, totals = (torch.empty((n_rows, n_parts), dtype=torch.float32, device=x.device) for _ in range(2))
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    grid = (n_rows, n_parts)
    pairs_kernel[grid](x, maxima, totals, *x.stride(), n_cols, n_parts, PART=1024)
    PARTS = 8
    shares_kernel[grid](x, out, maxima, totals, *x.stride(), *out.stride(), n_cols, n_parts, PART=1024, PARTS=PARTS)
    return out
