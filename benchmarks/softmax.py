"""On a GPU machine: measure the row softmax, ours and what one would take instead, and record it for those without a GPU.

python -m benchmarks.softmax                          everything, into course_lib/data/softmax-<gpu>.json
python -m benchmarks.softmax --quick                  some sizes, two rounds: shown, and written only with --out FILE
python -m benchmarks.softmax --only n=1024 n=65536    these widths only (likewise)
python -m benchmarks.softmax --providers ours torch liger --rounds 3 --out mine.json
"""

from __future__ import annotations

import sys
from functools import cache

import torch

from benchmarks import harness
from benchmarks.harness import DTYPES, Benchmark, Case, Function, Tensors
from course_lib.kernels.softmax import softmax
from course_lib.shapes import Rows

WIDTHS = (128, 256, 512, 781, 1000, 1024, 2048, 4096, 5000, 8192, 12345, 16384, 32768, 50257, 65536, 131072)
QUICK = (512, 781, 2048, 65536)
SMALL = [Case("float32", Rows(64, n), ("replay", "host", "cold"), n in QUICK) for n in range(256, 2049, 128)]
"""The shapes of the article's table."""
LARGE = [Case(dtype, Rows(4096, n), ("cold",), n in QUICK) for dtype in DTYPES for n in WIDTHS]

TOLERANCE = {torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 2e-2}
ROUNDING = 5
"""How much more "naive" may be off: it rounds after each of its five operations."""

METHOD = """\
Rows of random normal numbers; results were compared with torch.softmax in fp64. copy is x.clone(); naive is max, subtraction,
exp, sum and division by torch; torch is torch.softmax; torch.compile is that function compiled for the one shape
(dynamic=False); ours is course_lib.kernels.softmax.softmax, persistent course_lib.kernels.persistent.persistent_softmax; liger
and quack are what liger-kernel and quack-kernels offer as softmax."""


def naive_softmax(x: torch.Tensor) -> torch.Tensor:
    """Softmax of each row by five operations, each of which passes over the matrix."""
    z = x - x.max(dim=1, keepdim=True).values
    numerator = torch.exp(z)
    return numerator / numerator.sum(dim=1, keepdim=True)


def torch_softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1)


PEERS = {
    "persistent": ("course_lib.kernels.persistent", "persistent_softmax"),
    "liger": ("liger_kernel.transformers.functional", "liger_softmax"),
    "quack": ("quack", "softmax"),
}
"""Where further providers are found; those that are not installed are left out."""


@cache
def peers() -> dict[str, Function]:
    return harness.installed(PEERS)


def functions(case: Case) -> dict[str, Function]:
    """Whom to measure, in the order of the file."""
    torch.compiler.reset()  # what is kept of other shapes makes calls slower, and at last is too much to compile more
    compiled = torch.compile(torch_softmax, dynamic=False, fullgraph=True)
    first = {"copy": torch.clone, "naive": naive_softmax, "torch": torch_softmax, "torch.compile": compiled, "ours": softmax}
    return first | peers()


def inputs(case: Case, generator: torch.Generator) -> Tensors:
    assert isinstance(case.shape, Rows)
    x = torch.randn(case.shape.m, case.shape.n, generator=generator, device=generator.device)
    return (x.to(DTYPES[case.dtype]),)


def check(name: str, given: Tensors, results: Tensors) -> None:
    """Compare with torch's softmax in fp64, some rows at a time: as a whole that might not fit."""
    (x,), (got,) = given, results
    tolerance = TOLERANCE[x.dtype] * (ROUNDING if name == "naive" else 1)
    step = max(1, 2**24 // x.shape[1])
    for some in (slice(first, first + step) for first in range(0, x.shape[0], step)):
        want = x[some] if name == "copy" else torch.softmax(x[some].double(), -1).to(x.dtype)
        torch.testing.assert_close(got[some], want, rtol=tolerance, atol=1e-7)


BENCHMARK = Benchmark(
    subject="softmax",
    method=METHOD,
    cases=[*SMALL, *LARGE],
    inputs=inputs,
    functions=functions,
    check=check,
    packages=("liger-kernel", "quack-kernels"),
)

if __name__ == "__main__":
    sys.exit(harness.main(BENCHMARK))
