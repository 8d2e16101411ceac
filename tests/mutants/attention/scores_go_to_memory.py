"""Two kernels, and between them a matrix of all weights in memory: what attention in one kernel is there to avoid."""
# expect: not_as_asked

import math

import torch
import triton
import triton.language as tl


@triton.jit
def weights_kernel(q_ptr, k_ptr, w_ptr, qb, qh, qm, qd, kb, kh, kn, kd, H, N, scale, D: tl.constexpr, BLOCK: tl.constexpr):
    row, batch, head = tl.program_id(0), tl.program_id(1) // H, tl.program_id(1) % H
    columns, keys = tl.arange(0, D), tl.arange(0, BLOCK)
    q = tl.load(q_ptr + batch * qb + head * qh + row * qm + columns * qd).to(tl.float32)
    k_ptrs = k_ptr + batch * kb + head * kh + keys[:, None] * kn + columns[None, :] * kd
    k = tl.load(k_ptrs, mask=keys[:, None] < N, other=0.0).to(tl.float32)
    scores = tl.where(keys < N, tl.sum(q[None, :] * k, axis=1) * scale, -float("inf"))
    weights = tl.exp(scores - tl.max(scores, axis=0))
    place = (tl.program_id(1) * tl.num_programs(0) + row) * N + keys
    tl.store(w_ptr + place, weights / tl.sum(weights, axis=0), mask=keys < N)


@triton.jit
def values_kernel(w_ptr, v_ptr, out_ptr, vb, vh, vn, vd, H, N, D: tl.constexpr, BLOCK: tl.constexpr):
    row, batch, head = tl.program_id(0), tl.program_id(1) // H, tl.program_id(1) % H
    columns, keys = tl.arange(0, D), tl.arange(0, BLOCK)
    place = tl.program_id(1) * tl.num_programs(0) + row
    weights = tl.load(w_ptr + place * N + keys, mask=keys < N, other=0.0)
    v_ptrs = v_ptr + batch * vb + head * vh + keys[:, None] * vn + columns[None, :] * vd
    v = tl.load(v_ptrs, mask=keys[:, None] < N, other=0.0).to(tl.float32)
    tl.store(out_ptr + place * D + columns, tl.sum(weights[:, None] * v, axis=0).to(tl.float16))


def attention(q, k, v):
    batch, heads, M, D = q.shape
    N = k.shape[2]
    weights = torch.empty((batch, heads, M, N), dtype=torch.float32, device=q.device)
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    grid, BLOCK = (M, batch * heads), triton.next_power_of_2(N)
    weights_kernel[grid](q, k, weights, *q.stride(), *k.stride(), heads, N, 1 / math.sqrt(D), D=D, BLOCK=BLOCK)
    values_kernel[grid](weights, v, out, *v.stride(), heads, N, D=D, BLOCK=BLOCK)
    return out
