"""dx by rows; and dweight and dbias by columns, each program down all rows of its own: nobody shares."""

import torch
import triton
import triton.language as tl


@triton.jit
def rows_kernel(
    dy_ptr, x_ptr, weight_ptr, mean_ptr, rstd_ptr, dx_ptr, dy_0, dy_1, x_0, x_1, n_cols, eps, BLOCK_SIZE: tl.constexpr
):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    g = tl.load(dy_ptr + row * dy_0 + columns * dy_1, mask=mask, other=0.0) * tl.load(
        weight_ptr + columns, mask=mask, other=0.0
    )
    x = tl.load(x_ptr + row * x_0 + columns * x_1, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / n_cols
    distance = tl.where(mask, x - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(distance * distance, axis=0) / n_cols + eps)
    normal = distance * rstd
    dx = rstd * (g - (tl.sum(g, axis=0) + normal * tl.sum(g * normal, axis=0)) / n_cols)
    tl.store(dx_ptr + row * n_cols + columns, dx, mask=mask)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)


@triton.jit
def columns_kernel(
    dy_ptr, x_ptr, mean_ptr, rstd_ptr, sums_ptr, dy_0, dy_1, x_0, x_1, n_rows, n_cols, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    dweight = tl.zeros([COLUMNS], dtype=tl.float32)
    dbias = tl.zeros([COLUMNS], dtype=tl.float32)
    for start in tl.range(0, n_rows, ROWS):
        rows = (start + tl.arange(0, ROWS))[:, None]
        mask = (rows < n_rows) & (columns[None, :] < n_cols)
        dy = tl.load(dy_ptr + rows * dy_0 + columns[None, :] * dy_1, mask=mask, other=0.0)
        x = tl.load(x_ptr + rows * x_0 + columns[None, :] * x_1, mask=mask, other=0.0)
        mean = tl.load(mean_ptr + rows, mask=rows < n_rows, other=0.0)
        rstd = tl.load(rstd_ptr + rows, mask=rows < n_rows, other=0.0)
        dweight += tl.sum(dy * (x - mean) * rstd, axis=0)
        dbias += tl.sum(dy, axis=0)
    tl.store(sums_ptr + columns, dweight, mask=columns < n_cols)
    tl.store(sums_ptr + n_cols + columns, dbias, mask=columns < n_cols)


def layernorm_backward(dy, x, weight, eps):
    n_rows, n_cols = x.shape
    grads = torch.empty((n_rows + 2, n_cols), dtype=x.dtype, device=x.device)
    mean, rstd = (torch.empty(n_rows, dtype=x.dtype, device=x.device) for _ in range(2))
    strides = (*dy.stride(), *x.stride())
    block = triton.next_power_of_2(n_cols)
    rows_kernel[(n_rows,)](dy, x, weight, mean, rstd, grads, *strides, n_cols, eps, BLOCK_SIZE=block)
    grid = (triton.cdiv(n_cols, 64),)
    columns_kernel[grid](dy, x, mean, rstd, grads[n_rows:], *strides, n_rows, n_cols, ROWS=16, COLUMNS=64)
    return grads
