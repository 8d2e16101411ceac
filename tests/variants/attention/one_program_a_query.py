"""One program for each query, without `tl.dot`: sums of products, all in fp32."""

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, qb, qh, qm, qd, kb, kh, kn, kd, vb, vh, vn, vd, N,
    D: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    query, head, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    columns = tl.arange(0, D)
    q = tl.load(q_ptr + batch * qb + head * qh + query * qm + columns * qd).to(tl.float32)
    maximum = -float("inf")
    total = 0.0
    weighted = tl.zeros((D,), tl.float32)
    for start in range(0, N, BLOCK):
        keys = start + tl.arange(0, BLOCK)[:, None]
        k = tl.load(k_ptr + batch * kb + head * kh + keys * kn + columns[None, :] * kd, mask=keys < N, other=0.0)
        v = tl.load(v_ptr + batch * vb + head * vh + keys * vn + columns[None, :] * vd, mask=keys < N, other=0.0)
        scores = tl.sum(q[None, :] * k.to(tl.float32), axis=1)[:, None] / tl.sqrt(float(D))
        scores = tl.where(keys < N, scores, -float("inf"))
        higher = tl.maximum(maximum, tl.max(scores))
        weights = tl.exp(scores - higher)
        shrink = tl.exp(maximum - higher)
        total = total * shrink + tl.sum(weights)
        weighted = weighted * shrink + tl.sum(weights * v.to(tl.float32), axis=0)
        maximum = higher
    place = (batch * tl.num_programs(1) + head) * tl.num_programs(0) + query
    tl.store(out_ptr + place * D + columns, (weighted / total).to(tl.float16))


def attention(q, k, v):
    batch, heads, M, D = q.shape
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    strides = (*q.stride(), *k.stride(), *v.stride())
    attention_kernel[(M, heads, batch)](q, k, v, out, *strides, k.shape[2], D=D, BLOCK=64)
    return out
