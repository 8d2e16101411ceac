"""On a GPU machine: measure attention forward, ours and torch's, and record it for those without a GPU.

    python -m benchmarks.attention                     everything, into course_lib/data/attention-<gpu>.json
    python -m benchmarks.attention --quick             some sizes, two rounds: shown, and written only with --out FILE
    python -m benchmarks.attention --only seqlen=4096  these lengths only (likewise)

Each result is compared with torch's in fp32 before anything is timed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from benchmarks.harness import DTYPES, Benchmark, Case, Function, Tensors, main
from course_lib.kernels.attention import attention
from course_lib.shapes import Attention

LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
HEADS = 16
ALL_POSITIONS = 16384
"""Of all batches together: the longer these are, the fewer there are."""
TOLERANCE = {"float32": 1e-4, "float16": 2e-3, "bfloat16": 1.6e-2}
"""Relative to a result, and what a result near 0 may be off. Of 4096 random values, a mean is about 0.02."""
ROUNDING = 5
"""How much more "naive" may be off: it rounds its scores, and its weights."""

METHOD = """\
q, k and v are random normal numbers, of 16 heads and 16384 positions in all batches together. Results were compared with
torch's of the same inputs in fp32. naive is a product, a softmax and a product by torch; torch is scaled_dot_product_attention
as it comes, and flash the same with its own FlashAttention asked for; ours is course_lib.kernels.attention.attention."""


def naive(causal: bool) -> Function:
    """Attention in three operations and a mask, each of which passes over all scores."""

    def call(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[3])
        if causal:
            scores = scores.masked_fill(torch.ones_like(scores[0, 0], dtype=torch.bool).triu(1), -float("inf"))
        return torch.softmax(scores, -1) @ v

    return call


def by_torch(causal: bool) -> Function:
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal)


def by_flash(causal: bool) -> Function:
    def call(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return call


def ours(causal: bool) -> Function:
    return lambda q, k, v: attention(q, k, v, causal=causal)


PROVIDERS: Mapping[str, Callable[[bool], Function]] = {"naive": naive, "torch": by_torch, "flash": by_flash, "ours": ours}


def functions(case: Case) -> dict[str, Function]:
    def without_the_flag(function: Function) -> Function:
        return lambda q, k, v, _: function(q, k, v)

    return {name: without_the_flag(make(_shape(case).causal)) for name, make in PROVIDERS.items()}


def inputs(case: Case, generator: torch.Generator) -> Tensors:
    """q, k and v, and whether it is to be causal, which the check is told by."""
    shape = _shape(case)
    sizes = (shape.batch, shape.heads, shape.seqlen, shape.head_dim)
    q, k, v = (torch.randn(sizes, generator=generator, device=generator.device).to(DTYPES[case.dtype]) for _ in range(3))
    return q, k, v, torch.tensor(shape.causal)


def check(name: str, inputs: Tensors, results: Tensors) -> None:
    """Raise `AssertionError` if a result is not torch's in fp32, rounded."""
    q, k, v = (one.float() for one in inputs[:3])
    (got,) = results
    tolerance = TOLERANCE[str(got.dtype).removeprefix("torch.")] * (ROUNDING if name == "naive" else 1)
    want = F.scaled_dot_product_attention(q, k, v, is_causal=bool(inputs[3]))
    torch.testing.assert_close(got.float(), want, rtol=tolerance, atol=tolerance)


def _shape(case: Case) -> Attention:
    assert isinstance(case.shape, Attention)
    return case.shape


def cases() -> list[Case]:
    """fp16 over all lengths, and one length in bf16 and in fp32."""
    kinds = [(head_dim, causal) for head_dim in (64, 128) for causal in (False, True)]
    shapes = [
        ("float16", Attention(ALL_POSITIONS // length, HEADS, length, head_dim, causal))
        for head_dim, causal in kinds
        for length in LENGTHS
    ]
    shapes += [("bfloat16", Attention(4, HEADS, 4096, head_dim, causal)) for head_dim, causal in kinds]
    shapes += [("float32", Attention(4, HEADS, 4096, 64, False))]
    return [Case(dtype, shape, quick=dtype == "float16" and shape.seqlen == 4096) for dtype, shape in shapes]


BENCHMARK = Benchmark("attention", METHOD, cases(), inputs, functions, check)

if __name__ == "__main__":
    sys.exit(main(BENCHMARK))
