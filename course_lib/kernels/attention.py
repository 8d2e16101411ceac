"""Attention, finished: what lesson 15 arrives at, for any lengths, strides and 16- or 32-bit format.

`attention(q, k, v)` computes softmax(q · kᵀ · scale) · v without ever writing q · kᵀ, which has an element for each pair of a
query and a key: a program holds a block of queries, passes over the keys and values once, block by block, and keeps for each
query the highest score so far, the sum of the weights, and the weighted sum of the values (Dao et al., FlashAttention, 2022;
Milakov and Gimelshein, Online normalizer calculation for softmax, 2018).

On GPUs that have a unit for copying tiles (from sm_90) keys and values come through it, by tensor descriptors.

Not here: the backward pass, dropout, and masks other than the causal one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from course_lib.kernels.matmul import check_tensor, tile

LOG2_E = math.log2(math.e)
LOWEST: tl.constexpr = tl.constexpr(-3.4028234663852886e38)
"""The lowest number of fp32. A maximum begins there and not at −∞, since −∞ − (−∞), for a block of −∞ alone, is NaN."""
LARGEST_HEAD = 256
"""The most elements of a query; a block of more finds no room in the registers of one program."""


# --- the kernel -----------------------------------------------------------------------------------------------------


@triton.jit(do_not_specialize=["n_heads", "n_queries", "n_keys"])
def attention_kernel(
    q,
    k,
    v,
    out,
    q_batch_stride,
    q_head_stride,
    q_row_stride,
    q_col_stride,
    k_batch_stride,
    k_head_stride,
    k_row_stride,
    k_col_stride,
    v_batch_stride,
    v_head_stride,
    v_row_stride,
    v_col_stride,
    n_heads,
    n_queries,
    n_keys,
    scale,
    HEAD_DIM: tl.constexpr,
    CAUSAL: tl.constexpr,
    DESCRIBED: tl.constexpr,
    PRECISION: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """One program for BLOCK_M queries of one head. `scale` has log₂ e in it, and is positive; `out` is contiguous.

    If DESCRIBED, `k` and `v` are descriptors of tiles of BLOCK_N × BLOCK_D, and their strides are not used. PRECISION is that
    of products of fp32. The kernel is compiled once for any lengths.
    """
    n_blocks = tl.cdiv(n_queries, BLOCK_M)
    block = tl.program_id(0) % n_blocks
    if CAUSAL:
        block = n_blocks - 1 - block  # the last queries see the most keys: they begin first
    batch_head = tl.program_id(0) // n_blocks
    batch = batch_head // n_heads
    head = batch_head % n_heads
    first = block * BLOCK_M

    rows = first + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_D)
    inside = (rows < n_queries)[:, None] & (cols < HEAD_DIM)[None, :]
    q += batch.to(tl.int64) * q_batch_stride + head.to(tl.int64) * q_head_stride
    queries = tl.load(q + tile(rows, q_row_stride, cols, q_col_stride), mask=inside, other=0.0)
    if not DESCRIBED:
        k += batch.to(tl.int64) * k_batch_stride + head.to(tl.int64) * k_head_stride
        v += batch.to(tl.int64) * v_batch_stride + head.to(tl.int64) * v_head_stride

    # Of the keys, the first blocks are seen whole by all rows; the blocks of the diagonal and of the end are seen in part.
    if CAUSAL:
        end = tl.minimum(first + BLOCK_M, n_keys)
        whole = tl.minimum(first + 1, n_keys) // BLOCK_N * BLOCK_N
    else:
        end = n_keys
        whole = n_keys // BLOCK_N * BLOCK_N
    maximum = tl.full((BLOCK_M,), LOWEST, tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    weighted = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    for start in tl.range(0, whole, BLOCK_N):
        keys = loaded(k, batch, head, start, k_row_stride, k_col_stride, n_keys, HEAD_DIM, DESCRIBED, False, BLOCK_N, BLOCK_D)
        scores = tl.dot(queries, keys.T, input_precision=PRECISION)
        weights, shrink, maximum = weighed(scores, maximum, scale)
        total = total * shrink + tl.sum(weights, axis=1)
        values = loaded(v, batch, head, start, v_row_stride, v_col_stride, n_keys, HEAD_DIM, DESCRIBED, False, BLOCK_N, BLOCK_D)
        weighted = tl.dot(weights.to(values.dtype), values, weighted * shrink[:, None], input_precision=PRECISION)
    for start in tl.range(whole, end, BLOCK_N):
        keys = loaded(k, batch, head, start, k_row_stride, k_col_stride, n_keys, HEAD_DIM, DESCRIBED, True, BLOCK_N, BLOCK_D)
        scores = tl.dot(queries, keys.T, input_precision=PRECISION)
        col = start + tl.arange(0, BLOCK_N)
        seen = (col < n_keys)[None, :]
        if CAUSAL:
            seen = seen & (col[None, :] <= rows[:, None])
        weights, shrink, maximum = weighed(tl.where(seen, scores, float("-inf")), maximum, scale)
        total = total * shrink + tl.sum(weights, axis=1)
        values = loaded(v, batch, head, start, v_row_stride, v_col_stride, n_keys, HEAD_DIM, DESCRIBED, True, BLOCK_N, BLOCK_D)
        weighted = tl.dot(weights.to(values.dtype), values, weighted * shrink[:, None], input_precision=PRECISION)

    # A query that gives weight to no key (there are none, or all its scores are −∞) gets zeros, as torch has it.
    result = weighted / tl.where(total == 0.0, 1.0, total)[:, None]
    out += batch_head.to(tl.int64) * n_queries * HEAD_DIM
    tl.store(out + tile(rows, HEAD_DIM, cols, 1), result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def loaded(
    x,
    batch,
    head,
    start,
    row_stride,
    col_stride,
    n_keys,
    HEAD_DIM: tl.constexpr,
    DESCRIBED: tl.constexpr,
    AT_END: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """BLOCK_N keys or values of a head, from number `start` on; 0 behind the last if they may be AT_END."""
    if DESCRIBED:
        return x.load([batch, head, start, 0]).reshape(BLOCK_N, BLOCK_D)
    else:
        rows = tl.arange(0, BLOCK_N)
        cols = tl.arange(0, BLOCK_D)
        x += tl.cast(start, tl.int64) * row_stride
        offsets = tile(rows, row_stride, cols, col_stride)
        if AT_END:
            return tl.load(x + offsets, mask=(start + rows < n_keys)[:, None] & (cols < HEAD_DIM)[None, :], other=0.0)
        elif HEAD_DIM < BLOCK_D:
            return tl.load(x + offsets, mask=(cols < HEAD_DIM)[None, :], other=0.0)
        else:
            return tl.load(x + offsets)


@triton.jit
def weighed(scores, maximum, scale):
    """One step of an online softmax along axis 1: weights of a block, by how much all before shrink, and the new maximum.

    2^(score · scale − maximum), so that a multiplication, a subtraction and a power of two are all there is for each pair.
    """
    higher = tl.maximum(maximum, tl.max(scores, axis=1) * scale)
    return tl.exp2(scores * scale - higher[:, None]), tl.exp2(maximum - higher), higher


# --- which way to compute it ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """How it is computed: queries of a program, keys of a step, warps of a program, stages of its loop, and descriptors.

    `precision` is that of products of fp32: "ieee" is fp32's own, and "tf32x3" nearly so, by three products on matrix units.
    """

    block_m: int
    block_n: int
    num_warps: int
    num_stages: int
    described: bool = False
    precision: Literal["ieee", "tf32x3"] = "ieee"


Units = Literal["tf32", "16 bits", "none"]
"""What a GPU's matrix units take of what is computed here: fp32 as tf32, and 16 bits; 16 bits alone; or nothing."""

PLANS: Mapping[str, Mapping[int, Plan]] = {
    "descriptors": {64: Plan(64, 128, 4, 2, True), 128: Plan(64, 64, 4, 3, True), 256: Plan(128, 64, 8, 2, True)},
    "pointers": {64: Plan(64, 64, 4, 3), 128: Plan(128, 32, 8, 3), 256: Plan(64, 32, 4, 2)},
    "fp32 on units": {64: Plan(64, 32, 4, 2, precision="tf32x3"), 128: Plan(32, 32, 4, 2, precision="tf32x3")},
    "without units": {64: Plan(64, 32, 8, 2), 256: Plan(32, 32, 8, 1)},
}
"""By the columns of a tile, up to which each is good. In 16 bits, up to 128 columns, these were the fastest on an H200 at 4096
positions, of many that spill no registers; the others were chosen by what they spill."""


def plan(head_dim: int, itemsize: int, units: Units, described: bool = False) -> Plan:
    """A plan for queries of `head_dim` elements of `itemsize` bytes; `described` says whether descriptors can be had.

    >>> plan(64, 2, "tf32", described=True)
    Plan(block_m=64, block_n=128, num_warps=4, num_stages=2, described=True, precision='ieee')
    """
    block_d = padded(head_dim)
    if itemsize == 4 and units == "tf32" and block_d <= 128:
        kind = "fp32 on units"
    elif itemsize == 4 or units == "none":
        kind = "without units"
    else:
        kind = "descriptors" if described else "pointers"
    return next(how for widest, how in PLANS[kind].items() if block_d <= widest)


def padded(head_dim: int) -> int:
    """Columns of a tile: a power of two, and 16 at least, since a product of tiles takes no fewer."""
    return max(16, triton.next_power_of_2(head_dim))


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool = False, scale: float | None = None
) -> torch.Tensor:
    """softmax(q · kᵀ · scale) · v of each head, as `torch.nn.functional.scaled_dot_product_attention` has it; new, contiguous.

    `q` is (batch, heads, queries, head_dim), `k` and `v` are (batch, heads, keys, head_dim), with any strides: heads that
    share keys come from `k.expand(…)`. All three are fp16, bf16 or fp32, and `head_dim` is up to 256. `scale` is 1/√head_dim
    unless it is given. If `causal`, query number i sees the keys up to number i only. Sums are in fp32, and weights are
    rounded to the format of `v`. A query that gives weight to no key gets zeros.

    There is no backward pass. Raises `TypeError` for what are no such tensors, and `ValueError` for other shapes, for tensors
    that Triton cannot reach, and where a gradient would be lost.

    >>> from course_lib import trace
    >>> q, k = torch.zeros(1, 1, 1, 16), torch.zeros(1, 1, 4, 16)
    >>> trace(attention, q, k, torch.arange(4.0)[:, None].expand(1, 1, 4, 16)).result[0, 0, 0, 0].item()
    1.5
    """
    _check(q, k, v)
    q, k, v = (x.resolve_neg() for x in (q, k, v))  # torch.imag of a conjugate holds the negatives of what lies in memory
    scale = 1 / math.sqrt(q.shape[3]) if scale is None and q.shape[3] else float(scale or 0)
    if scale <= 0:  # only a positive scale leaves the highest score the highest
        q, scale = (-q, -scale) if scale < 0 else (q * 0, 1.0)
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    if out.numel():
        how = plan(q.shape[3], q.element_size(), _units(q.device), _describable(k, v))
        launch(q, k, v, out, causal, scale, how)
    return out


def launch(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, causal: bool, scale: float, how: Plan) -> Any:
    """Write the attention into the contiguous `out` by one plan; returns what Triton compiled for it, if anything."""
    arguments, options = call(q, k, v, out, causal, scale, how)
    n_programs = triton.cdiv(q.shape[2], how.block_m) * q.shape[0] * q.shape[1]
    with torch.cuda.device_of(q):  # Triton compiles for the current GPU, and launches there
        return attention_kernel[(n_programs,)](*arguments, **options)


def call(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, causal: bool, scale: float, how: Plan
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of `attention_kernel` for one plan, and its constants and options."""
    n_queries, head_dim = q.shape[2:]
    block_d = padded(head_dim)
    given = [TensorDescriptor.from_tensor(x, [1, 1, how.block_n, block_d]) if how.described else x for x in (k, v)]
    strides = (*q.stride(), *k.stride(), *v.stride())
    constants = {"HEAD_DIM": head_dim, "CAUSAL": causal, "DESCRIBED": how.described, "PRECISION": how.precision}
    blocks = {"BLOCK_M": how.block_m, "BLOCK_N": how.block_n, "BLOCK_D": block_d}
    options = {"num_warps": how.num_warps, "num_stages": how.num_stages}
    numbers = (q.shape[1], n_queries, k.shape[2], scale * LOG2_E)
    return (q, *given, out, *strides, *numbers), {**constants, **blocks, **options}


def interpreted() -> bool:
    """Whether the kernel runs in Triton's interpreter; Triton decides that where `@triton.jit` is written."""
    return not isinstance(attention_kernel, triton.JITFunction)


def _describable(*tensors: torch.Tensor) -> bool:
    """Whether descriptors can be had of these tensors: their GPU knows them, elements of a row lie side by side, and all
    else begins at multiples of 16 bytes."""
    return _capability(tensors[0].device) >= (9, 0) and all(
        x.numel() > 0
        and x.stride(3) == 1
        and x.data_ptr() % 16 == 0
        and all(stride > 0 and stride * x.element_size() % 16 == 0 for stride in x.stride()[:3])
        for x in tensors
    )


def _units(device: torch.device) -> Units:
    if torch.version.hip is not None:
        return "16 bits"
    return "tf32" if _capability(device) >= (8, 0) else "none"


@functools.cache
def _capability(device: torch.device) -> tuple[int, int]:
    """The compute capability of one of NVIDIA's GPUs; (0, 0) for anything else, and in Triton's interpreter."""
    return (0, 0) if interpreted() or torch.version.hip is not None else torch.cuda.get_device_capability(device)


def _check(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> None:
    """Raise for what `attention` cannot do, and say what to do instead."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        check_tensor("attention", name, x)
        if x.dim() != 4:
            raise ValueError(f"{name} has {x.dim()} dimensions, and not four: (batch, heads, length, head_dim)")
    if not q.dtype == k.dtype == v.dtype:
        raise TypeError(f"q, k and v have one format, not {q.dtype}, {k.dtype} and {v.dtype}")
    if not q.device == k.device == v.device:
        raise ValueError(f"q, k and v are in one place, not on {q.device}, {k.device} and {v.device}")
    if k.shape != v.shape:
        raise ValueError(f"each key has a value: k is {tuple(k.shape)}, and v {tuple(v.shape)}")
    if (*q.shape[:2], q.shape[3]) != (*k.shape[:2], k.shape[3]):
        raise ValueError(
            f"q {tuple(q.shape)} and k {tuple(k.shape)} differ in more than their length: "
            "k.expand(…) repeats a head without a copy"
        )
    if q.shape[3] > LARGEST_HEAD:
        raise ValueError(f"head_dim is up to {LARGEST_HEAD}, not {q.shape[3]}")
    if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
        raise ValueError("attention has no backward pass here: give it q.detach() and so on, or call it under torch.no_grad()")
    if q.device.type == "cpu" and not interpreted():
        raise ValueError('q is on the CPU, and kernels are compiled for the GPU in this process: move it by q.to("cuda")')
