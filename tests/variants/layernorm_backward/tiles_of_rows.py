"""Programs take tiles of four neighbouring rows, and each tile has a partial sum of its own."""

import torch
import triton
import triton.language as tl


@triton.jit
def tile_kernel(
    dy_ptr,
    x_ptr,
    weight_ptr,
    dx_ptr,
    dweight_ptr,
    dbias_ptr,
    dy_0,
    dy_1,
    x_0,
    x_1,
    n_rows,
    n_cols,
    eps,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    columns = tl.arange(0, COLUMNS)
    inside = columns[None, :] < n_cols
    mask = (rows < n_rows) & inside
    dy = tl.load(dy_ptr + rows * dy_0 + columns[None, :] * dy_1, mask=mask, other=0.0)
    x = tl.load(x_ptr + rows * x_0 + columns[None, :] * x_1, mask=mask, other=0.0)
    distance = tl.where(inside, x - tl.sum(x, axis=1, keep_dims=True) / n_cols, 0.0)
    rstd = tl.rsqrt(tl.sum(distance * distance, axis=1, keep_dims=True) / n_cols + eps)
    normal = distance * rstd
    g = dy * tl.load(weight_ptr + columns, mask=columns < n_cols, other=0.0)[None, :]
    level = tl.sum(g, axis=1, keep_dims=True) / n_cols
    along = tl.sum(g * normal, axis=1, keep_dims=True) / n_cols
    tl.store(dx_ptr + rows * n_cols + columns[None, :], rstd * (g - level - along * normal), mask=mask)
    part = tl.program_id(0) * n_cols + columns
    tl.store(dweight_ptr + part, tl.sum(dy * normal, axis=0), mask=columns < n_cols)
    tl.store(dbias_ptr + part, tl.sum(dy, axis=0), mask=columns < n_cols)


@triton.jit
def total_kernel(parts_ptr, out_ptr, n_parts, n_cols, PARTS: tl.constexpr):
    column = tl.program_id(0)
    total = tl.zeros([PARTS], dtype=tl.float32)
    for start in tl.range(0, n_parts, PARTS):
        part = start + tl.arange(0, PARTS)
        total += tl.load(parts_ptr + part * n_cols + column, mask=part < n_parts, other=0.0)
    tl.store(out_ptr + column, tl.sum(total, axis=0))


def layernorm_backward(dy, x, weight, eps):
    n_rows, n_cols = x.shape
    grads = torch.empty((n_rows + 2, n_cols), dtype=x.dtype, device=x.device)
    n_tiles = triton.cdiv(n_rows, 4)
    dweight, dbias = (torch.empty((n_tiles, n_cols), dtype=x.dtype, device=x.device) for _ in range(2))
    strides = (*dy.stride(), *x.stride())
    block = triton.next_power_of_2(n_cols)
    tile_kernel[(n_tiles,)](dy, x, weight, grads, dweight, dbias, *strides, n_rows, n_cols, eps, ROWS=4, COLUMNS=block)
    total_kernel[(n_cols,)](dweight, grads[n_rows], n_tiles, n_cols, PARTS=16)
    total_kernel[(n_cols,)](dbias, grads[n_rows + 1], n_tiles, n_cols, PARTS=16)
    return grads
