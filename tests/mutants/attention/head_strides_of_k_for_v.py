"""The values of a batch's heads are looked for where the keys of these heads lie."""
# expect: mismatch, load_out_of_bounds, first_block_only, tail
# hint: four strides

import math

import torch
import triton
import triton.language as tl


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
    maximum = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    weighted = tl.zeros((BLOCK_M, D), tl.float32)
    for start in tl.range(0, N, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        k_ptrs = k_ptr + batch * kb + head * kh + keys[:, None] * kn + columns[None, :] * kd
        k = tl.load(k_ptrs, mask=keys[:, None] < N, other=0.0)
        scores = tl.dot(q, tl.trans(k)) * scale
        scores = tl.where(keys[None, :] < N, scores, -float("inf"))
        higher = tl.maximum(maximum, tl.max(scores, axis=1))
        weights = tl.exp(scores - higher[:, None])
        shrink = tl.exp(maximum - higher)
        total = total * shrink + tl.sum(weights, axis=1)
        v_ptrs = v_ptr + batch * kb + head * kh + keys[:, None] * vn + columns[None, :] * vd
        v = tl.load(v_ptrs, mask=keys[:, None] < N, other=0.0)
        weighted = weighted * shrink[:, None] + tl.dot(weights.to(tl.float16), v)
        maximum = higher
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
