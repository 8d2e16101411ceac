"""On a GPU machine: measure LayerNorm, forward and backward, ours and what one would take instead, and record it.

python -m benchmarks.layernorm                          everything, into course_lib/data/layernorm-<gpu>.json
python -m benchmarks.layernorm --quick                  some sizes, two rounds: shown, and written only with --out FILE
python -m benchmarks.layernorm --only n=1024 n=4096     these widths only (likewise)
"""

from __future__ import annotations

import sys
from functools import cache

import torch

from benchmarks import harness
from benchmarks.harness import DTYPES, Benchmark, Case, Function, Tensors
from course_lib.kernels.layernorm import layernorm, layernorm_backward
from course_lib.shapes import Direction, Norm

EPS = 1e-5
WIDTHS = (781, 1024, 2048, 4096, 5000, 8192, 12345, 16384, 32768, 65536)
QUICK = (781, 4096, 16384)
DIRECTIONS: tuple[Direction, ...] = ("forward", "backward")
CASES = [
    Case(dtype, Norm(4096, n, direction), ("cold",), n in QUICK)
    for direction in DIRECTIONS
    for dtype in ("float32", "bfloat16")
    for n in WIDTHS
]
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 3e-2}
"""Of the largest element: each element of dweight is a sum of 4096 terms, which cancel."""

METHOD = """\
4096 rows of random normal numbers, with weights and biases; results were compared with torch's in fp64. Forward: torch is
torch.nn.functional.layer_norm; torch.compile is that function compiled for the one shape (dynamic=False); ours is
course_lib.kernels.layernorm.layernorm, liger what liger-kernel offers. Backward: from dy, x, weight, and the mean and 1/σ of
each row to dx, dweight and dbias. torch is aten.native_layer_norm_backward, which autograd calls; torch.compile is the formula
in torch's operations, compiled; ours is course_lib.kernels.layernorm.layernorm_backward. copy copies as many bytes as the
least that is read and written."""

PEERS: dict[Direction, dict[str, tuple[str, str]]] = {
    "forward": {"liger": ("liger_kernel.transformers.functional", "liger_layer_norm")},
    "backward": {"liger": ("liger_kernel.ops.layer_norm", "layer_norm_backward")},
}
"""Where further providers are found; those that are not installed are left out."""


def torch_forward(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, EPS)


def torch_backward(
    dy: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, mean: torch.Tensor, rstd: torch.Tensor
) -> Tensors:
    statistics = (mean[:, None], rstd[:, None])
    return torch.ops.aten.native_layer_norm_backward(dy, x, x.shape[-1:], *statistics, weight, bias, [True] * 3)


def formula_backward(
    dy: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, mean: torch.Tensor, rstd: torch.Tensor
) -> Tensors:
    """The backward pass in torch's operations, in the precision of mean and 1/σ."""
    wide = dy.to(mean.dtype)
    normal = (x.to(mean.dtype) - mean[:, None]) * rstd[:, None]
    g = wide * weight.to(mean.dtype)
    level, along = g.mean(dim=1, keepdim=True), (g * normal).mean(dim=1, keepdim=True)
    dx = rstd[:, None] * (g - level - normal * along)
    return dx.to(x.dtype), (wide * normal).sum(dim=0).to(weight.dtype), wide.sum(dim=0).to(bias.dtype)


def our_forward(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return layernorm(x, weight, bias, EPS)


def our_backward(
    dy: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, mean: torch.Tensor, rstd: torch.Tensor
) -> Tensors:
    gradients = layernorm_backward(dy, x, weight, mean, rstd)
    return tuple(one for one in gradients if one is not None)


@cache
def peers(direction: Direction) -> dict[str, Function]:
    found = harness.installed(PEERS[direction])
    if direction == "forward":
        return {name: lambda *tensors, function=function: function(*tensors, EPS) for name, function in found.items()}
    return found


def functions(case: Case) -> dict[str, Function]:
    """Whom to measure, in the order of the file."""
    assert isinstance(case.shape, Norm)
    forward = case.shape.direction == "forward"
    torch.compiler.reset()  # what is kept of other shapes makes calls slower, and at last is too much to compile more
    compiled = torch.compile(torch_forward if forward else formula_backward, dynamic=False, fullgraph=True)
    copied = torch.empty(case.shape.elements // 2, dtype=DTYPES[case.dtype], device="cuda")
    first: dict[str, Function] = {
        "copy": lambda *_: copied.clone(),
        "torch": torch_forward if forward else torch_backward,
        "torch.compile": compiled,
        "ours": our_forward if forward else our_backward,
    }
    return first | peers(case.shape.direction)


def inputs(case: Case, generator: torch.Generator) -> Tensors:
    """Forward: x, weight and bias. Backward: dy, x, weight, bias, and the mean and 1/σ of each row in fp32."""
    assert isinstance(case.shape, Norm)
    n_rows, n_cols = case.shape.m, case.shape.n

    def numbers(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, device=generator.device)

    x, weight, bias = (
        one.to(DTYPES[case.dtype]) for one in (1 + numbers(n_rows, n_cols), 1 + numbers(n_cols), numbers(n_cols))
    )
    if case.shape.direction == "forward":
        return x, weight, bias
    variance, mean = torch.var_mean(x.float(), dim=1, correction=0)
    return numbers(n_rows, n_cols).to(x.dtype), x, weight, bias, mean, torch.rsqrt(variance + EPS)


def check(name: str, given: Tensors, results: Tensors) -> None:
    """Compare with torch's own in fp64."""
    if name == "copy":
        return
    wide = [one.double() for one in given]
    right = (torch_forward(*wide),) if len(given) == 3 else formula_backward(*wide)
    for got, want in zip(results, right, strict=True):
        tolerance = TOLERANCE[given[0].dtype]
        torch.testing.assert_close(got.double(), want, rtol=tolerance, atol=tolerance * want.abs().max().item())


BENCHMARK = Benchmark(
    subject="layernorm",
    method=METHOD,
    cases=CASES,
    inputs=inputs,
    functions=functions,
    check=check,
    packages=("liger-kernel",),
)

if __name__ == "__main__":
    sys.exit(harness.main(BENCHMARK))
