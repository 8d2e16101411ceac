"""Powers of two with the scale folded in, keys loaded turned, pointers that move on, and masks in the last block only."""

import math

import torch
import triton
import triton.language as tl

LOG2_E = math.log2(math.e)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, qb, qh, qm, qd, kb, kh, kn, kd, vb, vh, vn, vd, ob, oh, om, od, H, M, N, scale,
    D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    blocks = tl.cdiv(M, BLOCK_M)
    block, batch, head = tl.program_id(0) % blocks, tl.program_id(0) // blocks // H, tl.program_id(0) // blocks % H
    rows, inner, lanes = block * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, D), tl.arange(0, BLOCK_N)
    mask = rows[:, None] < M
    q = tl.load(q_ptr + batch * qb + head * qh + rows[:, None] * qm + inner[None, :] * qd, mask=mask, other=0.0)
    k_ptrs = k_ptr + batch * kb + head * kh + inner[:, None] * kd + lanes[None, :] * kn
    v_ptrs = v_ptr + batch * vb + head * vh + lanes[:, None] * vn + inner[None, :] * vd
    highest = tl.full((BLOCK_M,), -1e30, tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    whole = N // BLOCK_N * BLOCK_N
    for _ in tl.range(0, whole, BLOCK_N):
        scores = tl.dot(q, tl.load(k_ptrs))
        higher = tl.maximum(highest, tl.max(scores, axis=1) * scale)
        p = tl.exp2(scores * scale - higher[:, None])
        shrink = tl.exp2(highest - higher)
        total = total * shrink + tl.sum(p, axis=1)
        acc = tl.dot(p.to(tl.float16), tl.load(v_ptrs), acc * shrink[:, None])
        highest = higher
        k_ptrs += BLOCK_N * kn
        v_ptrs += BLOCK_N * vn
    if whole < N:
        left = N - whole
        scores = tl.dot(q, tl.load(k_ptrs, mask=lanes[None, :] < left, other=0.0))
        scores = scores * scale + tl.where(lanes[None, :] < left, 0.0, -float("inf"))
        higher = tl.maximum(highest, tl.max(scores, axis=1))
        p = tl.exp2(scores - higher[:, None])
        shrink = tl.exp2(highest - higher)
        total = total * shrink + tl.sum(p, axis=1)
        acc = tl.dot(p.to(tl.float16), tl.load(v_ptrs, mask=lanes[:, None] < left, other=0.0), acc * shrink[:, None])
    out = (acc * (1.0 / total)[:, None]).to(tl.float16)
    tl.store(out_ptr + batch * ob + head * oh + rows[:, None] * om + inner[None, :] * od, out, mask=mask)


def attention(q, k, v):
    B, H, M, D = q.shape
    out = torch.empty((B, H, M, D), dtype=torch.float16, device=q.device)
    strides = (*q.stride(), *k.stride(), *v.stride(), *out.stride())
    attention_kernel[(triton.cdiv(M, 16) * B * H,)](
        q, k, v, out, *strides, H, M, k.shape[2], LOG2_E / math.sqrt(D), D=D, BLOCK_M=16, BLOCK_N=64
    )
    return out
