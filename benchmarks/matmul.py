"""On a GPU machine: measure the matrix product, ours and torch's, and record it for those without a GPU.

    python -m benchmarks.matmul                   everything, into course_lib/data/matmul-<gpu>.json
    python -m benchmarks.matmul --quick           some sizes, two rounds: shown, and written only with --out FILE
    python -m benchmarks.matmul --only side=4096 k=64

Beside ours stand two of its parts: the same kernel without tile copying, and the same kernel taking the tiles row by row.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import torch

from benchmarks import harness
from benchmarks.harness import DTYPES, Benchmark, Case, Tensors
from course_lib.kernels.matmul import abilities, choose, launch, matmul, plan
from course_lib.shapes import Product

SIDES = (512, 1024, 2048, 4096, 8192, 16384)
QUICK = (1024, 4096)
SQUARES = [Case("float16", Product(side, side, side), ("cold",), side in QUICK) for side in SIDES]
OTHERS = [
    *(Case("bfloat16", Product(side, side, side)) for side in (4096, 8192)),
    Case("float32", Product(4096, 4096, 4096)),
    *(Case("float16", Product(*shape)) for shape in ((4096, 4096, 4095), (64, 8192, 8192), (8192, 8192, 64))),
]

ROWS = 512
"""Of a larger result so many rows are checked, drawn at random."""
TOLERANCE = {torch.float16: (2.0**-10, 2e-4), torch.bfloat16: (2.0**-7, 2e-4), torch.float32: (1e-5, 5e-5)}
"""The relative and the absolute difference that are allowed; the latter for each square root of K, as sums grow."""

METHOD = """\
Matrices of random normal numbers, with rows side by side. Up to 512 rows of each result were compared with the product in fp64.
torch is torch.matmul, with float32 in full precision, and 16-bit products summed in fp32 throughout; ours is
course_lib.kernels.matmul.matmul. "pointers" is the plan that ours takes where tiles cannot be copied by descriptors; "row by
row" is the plan of ours with groups of one row of tiles. Operations are counted as 2 · M · N · K."""


def by_pointers(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    out = torch.empty((a.shape[0], b.shape[1]), dtype=a.dtype, device=a.device)
    launch(a, b, out, plan(len(a), b.shape[1], a.dtype, described=False, gpu=abilities(a.device)))
    return out


def row_by_row(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    out = torch.empty((a.shape[0], b.shape[1]), dtype=a.dtype, device=a.device)
    launch(a, b, out, replace(choose(a, b), group=1))
    return out


def inputs(case: Case, generator: torch.Generator) -> Tensors:
    assert isinstance(case.shape, Product)
    sizes = (case.shape.m, case.shape.k), (case.shape.k, case.shape.n)
    return tuple(torch.randn(size, generator=generator, device=generator.device).to(DTYPES[case.dtype]) for size in sizes)


def check(name: str, given: Tensors, results: Tensors) -> None:
    """Compare with the product in fp64, as a whole or in some of its rows."""
    (a, b), (got,) = given, results
    rows = torch.randperm(len(a), device=a.device)[:ROWS]
    relative, absolute = TOLERANCE[a.dtype]
    want = (a[rows].double() @ b.double()).to(a.dtype)
    torch.testing.assert_close(got[rows], want, rtol=relative, atol=absolute * math.sqrt(len(b)))
    assert not got.isnan().any(), "some of it was not written"


BENCHMARK = Benchmark(
    subject="matmul",
    method=METHOD,
    cases=[*SQUARES, *OTHERS],
    inputs=inputs,
    functions=lambda case: {"torch": torch.matmul, "ours": matmul, "pointers": by_pointers, "row by row": row_by_row},
    check=check,
)

if __name__ == "__main__":
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    sys.exit(harness.main(BENCHMARK))
