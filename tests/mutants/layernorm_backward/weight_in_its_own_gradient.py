"""dweight is the sum of dy · weight · x̂, and dbias that of dy · weight."""
# expect: mismatch, tail, scaled
# line: total
# hint: without the weight

import torch
import triton
import triton.language as tl


@triton.jit
def backward_kernel(
    dy_ptr,
    x_ptr,
    weight_ptr,
    dx_ptr,
    parts_ptr,
    dy_row_stride,
    dy_column_stride,
    x_row_stride,
    x_column_stride,
    n_rows,
    n_cols,
    eps,
    BLOCK_SIZE: tl.constexpr,
):
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    weight = tl.load(weight_ptr + columns, mask=mask, other=0.0)
    dweight = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    dbias = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0)):
        dy = tl.load(dy_ptr + row * dy_row_stride + columns * dy_column_stride, mask=mask, other=0.0)
        x = tl.load(x_ptr + row * x_row_stride + columns * x_column_stride, mask=mask, other=0.0)
        distance = tl.where(mask, x - tl.sum(x, axis=0) / n_cols, 0.0)
        rstd = 1 / tl.sqrt(tl.sum(distance * distance, axis=0) / n_cols + eps)
        normal = distance * rstd
        g = dy * weight
        level = tl.sum(g, axis=0) / n_cols
        along = tl.sum(g * normal, axis=0) / n_cols
        dx = (g - level - normal * along) * rstd
        tl.store(dx_ptr + row * n_cols + columns, dx, mask=mask)
        dweight += g * normal
        dbias += g
    part = tl.program_id(0) * n_cols + columns
    tl.store(parts_ptr + part, dweight, mask=mask)
    tl.store(parts_ptr + tl.num_programs(0) * n_cols + part, dbias, mask=mask)


@triton.jit
def sum_parts_kernel(parts_ptr, out_ptr, n_parts, n_cols, BLOCK_SIZE: tl.constexpr):
    table = tl.program_id(1)
    columns = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    total = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for part in tl.range(table * n_parts, (table + 1) * n_parts):
        total += tl.load(parts_ptr + part * n_cols + columns, mask=mask, other=0.0)
    tl.store(out_ptr + table * n_cols + columns, total, mask=mask)


def layernorm_backward(dy, x, weight, eps):
    n_rows, n_cols = x.shape
    grads = torch.empty((n_rows + 2, n_cols), dtype=x.dtype, device=x.device)
    n_programs = min(8, n_rows)
    parts = torch.empty((2, n_programs, n_cols), dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(n_cols)
    strides = (*dy.stride(), *x.stride())
    backward_kernel[(n_programs,)](dy, x, weight, grads, parts, *strides, n_rows, n_cols, eps, BLOCK_SIZE=block)
    sum_parts_kernel[(triton.cdiv(n_cols, 128), 2)](parts, grads[n_rows:], n_programs, n_cols, BLOCK_SIZE=128)
    return grads
