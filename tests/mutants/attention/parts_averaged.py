"""The keys are shared among programs, and the parts' results are averaged by their sums, without their maxima."""
# expect: mismatch

import math

import torch
import triton
import triton.language as tl


@triton.jit
def part_kernel(
    q_ptr, k_ptr, v_ptr, max_ptr, total_ptr, part_ptr, qb, qh, qm, qd, kb, kh, kn, kd, vb, vh, vn, vd, H, M, N, scale,
    D: tl.constexpr, PART: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    batch, head, part = tl.program_id(1) // H, tl.program_id(1) % H, tl.program_id(2)
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.arange(0, D)
    keys = part * PART + tl.arange(0, PART)
    q_ptrs = q_ptr + batch * qb + head * qh + rows[:, None] * qm + columns[None, :] * qd
    q = tl.load(q_ptrs, mask=rows[:, None] < M, other=0.0)
    k_ptrs = k_ptr + batch * kb + head * kh + keys[:, None] * kn + columns[None, :] * kd
    k = tl.load(k_ptrs, mask=keys[:, None] < N, other=0.0)
    v_ptrs = v_ptr + batch * vb + head * vh + keys[:, None] * vn + columns[None, :] * vd
    v = tl.load(v_ptrs, mask=keys[:, None] < N, other=0.0)
    scores = tl.where(keys[None, :] < N, tl.dot(q, k.T) * scale, -float("inf"))
    maximum = tl.max(scores, axis=1)
    weights = tl.exp(scores - maximum[:, None])
    place = (tl.program_id(1) * tl.num_programs(2) + part) * M + rows
    tl.store(max_ptr + place, maximum, mask=rows < M)
    tl.store(total_ptr + place, tl.sum(weights, axis=1), mask=rows < M)
    weighted = tl.dot(weights.to(tl.float16), v)
    tl.store(part_ptr + place[:, None] * D + columns[None, :], weighted, mask=rows[:, None] < M)


@triton.jit
def merge_kernel(max_ptr, total_ptr, part_ptr, out_ptr, M, n_parts, D: tl.constexpr, PARTS: tl.constexpr):
    row, head = tl.program_id(0), tl.program_id(1)
    parts, columns = tl.arange(0, PARTS), tl.arange(0, D)
    mask = parts < n_parts
    place = (head * n_parts + parts) * M + row
    maxima = tl.load(max_ptr + place, mask=mask, other=-float("inf"))
    shrink = tl.where(mask, 1.0, 0.0)
    total = tl.sum(shrink * tl.load(total_ptr + place, mask=mask, other=0.0), axis=0)
    weighted = tl.load(part_ptr + place[:, None] * D + columns[None, :], mask=mask[:, None], other=0.0)
    result = tl.sum(shrink[:, None] * weighted, axis=0) / total
    tl.store(out_ptr + (head * M + row) * D + columns, result.to(tl.float16))


def attention(q, k, v):
    batch, heads, M, D = q.shape
    N = k.shape[2]
    n_parts = triton.cdiv(N, 32)
    maxima, totals = (torch.empty((batch * heads, n_parts, M), dtype=torch.float32, device=q.device) for _ in range(2))
    parts = torch.empty((batch * heads, n_parts, M, D), dtype=torch.float32, device=q.device)
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    strides = (*q.stride(), *k.stride(), *v.stride())
    part_kernel[(triton.cdiv(M, 32), batch * heads, n_parts)](
        q, k, v, maxima, totals, parts, *strides, heads, M, N, 1 / math.sqrt(D), D=D, PART=32, BLOCK=32
    )
    PARTS = triton.next_power_of_2(n_parts)
    merge_kernel[(M, batch * heads)](maxima, totals, parts, out, M, n_parts, D=D, PARTS=PARTS)
    return out
