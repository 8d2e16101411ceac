"""The keys are taken in two halves, whose maxima are subtracted at the end one from the other: −∞ − (−∞) where one is empty."""
# expect: nan
# hint: no key is real

import math

import torch
import triton
import triton.language as tl


@triton.jit
def half(q, k_ptr, v_ptr, kn, kd, vn, vd, first, end, scale, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    columns = tl.arange(0, D)
    maximum = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    weighted = tl.zeros((BLOCK_M, D), tl.float32)
    for start in tl.range(first, end, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + keys[:, None] * kn + columns[None, :] * kd, mask=keys[:, None] < end, other=0.0)
        v = tl.load(v_ptr + keys[:, None] * vn + columns[None, :] * vd, mask=keys[:, None] < end, other=0.0)
        scores = tl.where(keys[None, :] < end, tl.dot(q, tl.trans(k)) * scale, -float("inf"))
        higher = tl.maximum(maximum, tl.max(scores, axis=1))
        weights = tl.exp(scores - higher[:, None])
        shrink = tl.exp(maximum - higher)
        total = total * shrink + tl.sum(weights, axis=1)
        weighted = weighted * shrink[:, None] + tl.dot(weights.to(tl.float16), v)
        maximum = higher
    return maximum, total, weighted


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, qb, qh, qm, qd, kb, kh, kn, kd, vb, vh, vn, vd, H, M, N, scale,
    D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    batch, head = tl.program_id(1) // H, tl.program_id(1) % H
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, D)
    q_ptrs = q_ptr + batch * qb + head * qh + rows[:, None] * qm + columns[None, :] * qd
    q = tl.load(q_ptrs, mask=rows[:, None] < M, other=0.0)
    k_ptr += batch * kb + head * kh
    v_ptr += batch * vb + head * vh
    middle = tl.minimum(N, tl.cdiv(tl.cdiv(N, 2), BLOCK_N) * BLOCK_N)
    max_1, total_1, weighted_1 = half(q, k_ptr, v_ptr, kn, kd, vn, vd, 0, middle, scale, D, BLOCK_M, BLOCK_N)
    max_2, total_2, weighted_2 = half(q, k_ptr, v_ptr, kn, kd, vn, vd, middle, N, scale, D, BLOCK_M, BLOCK_N)
    highest = tl.minimum(max_1, max_2)
    shrink_1, shrink_2 = tl.exp(max_1 - highest), tl.exp(max_2 - highest)
    total = total_1 * shrink_1 + total_2 * shrink_2
    weighted = weighted_1 * shrink_1[:, None] + weighted_2 * shrink_2[:, None]
    out_ptrs = out_ptr + tl.program_id(1) * M * D + rows[:, None] * D + columns[None, :]
    tl.store(out_ptrs, (weighted / total[:, None]).to(tl.float16), mask=rows[:, None] < M)


def attention(q, k, v):
    batch, heads, M, D = q.shape
    N = k.shape[2]
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    grid = (triton.cdiv(M, 32), batch * heads)
    attention_kernel[grid](
        q, k, v, out, *q.stride(), *k.stride(), *v.stride(), heads, M, N, 1 / math.sqrt(D), D=D, BLOCK_M=32, BLOCK_N=32
    )
    return out
