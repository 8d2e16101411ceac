"""What Triton's interpreter cannot do is told apart from what an answer does wrong: no verdict, never "wrong" or "passed"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from course_lib import catalog
from course_lib.catalog.inputs import LENGTHS
from course_lib.catalog.model import Exercise, Tolerance
from course_lib.checking import check as checking
from course_lib.checking.check import check_file
from course_lib.checking.findings import Report

KERNEL = """
import torch, triton, triton.language as tl

@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, EXPRESSION, mask=mask)

def double(x):
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out
"""

Judge = Callable[..., Report]
DOUBLE = catalog.exercise("double")


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Judge:
    def run(expression: str, **changes: object) -> Report:
        exercise: Exercise = replace(DOUBLE, **changes)  # type: ignore[arg-type]
        monkeypatch.setattr(checking.catalog, "exercise", lambda name: exercise)
        path = tmp_path / "answer_file.py"
        path.write_text(KERNEL.replace("EXPRESSION", expression))
        return check_file("double", path, seed=0)

    return run


def bf16(generator: torch.Generator, n: int) -> tuple[torch.Tensor]:
    return (torch.randn(n, generator=generator).to(torch.bfloat16),)


BF16 = {"make_inputs": bf16, "cases": LENGTHS, "targets": (80, 90), "tolerance": Tolerance(rtol=1e-2)}


def test_bf16_arithmetic_gets_no_verdict(judge: Judge) -> None:
    report = judge("2 * x", **BF16)
    assert (report.passed, report.judged) == (False, False)
    assert report.findings[0].kind == "no_verdict"
    assert "bf16" in report.findings[0].message
    assert "cannot be judged here" in repr(report)


def test_bf16_that_is_widened_before_computing_is_judged(judge: Judge) -> None:
    assert judge("2 * x.to(tl.float32)", **BF16).passed
    wrong = judge("3 * x.to(tl.float32)", **BF16)
    assert wrong.judged and not wrong.passed


def test_inline_assembly_gets_no_verdict(judge: Judge) -> None:
    report = judge('tl.inline_asm_elementwise("add.f32 $0, $1, $1;", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1)')
    assert not report.judged and report.findings[0].kind == "no_verdict"


def with_nan(generator: torch.Generator, n: int) -> tuple[torch.Tensor]:
    x = torch.randn(n, generator=generator)
    x[:1] = float("nan")
    return (x,)


def maximum(x: torch.Tensor) -> torch.Tensor:
    return x.amax().expand(x.shape).contiguous() if x.numel() else x


def test_nan_through_max_gets_no_verdict_but_a_wrong_value_without_nan_does(judge: Judge) -> None:
    cases = {"cases": ({"n": 40},), "straddle": lambda block: (), "reference": maximum}
    spread = "tl.max(x, axis=0) + tl.zeros((BLOCK,), tl.float32)"
    assert not judge(spread, make_inputs=with_nan, **cases).judged
    wrong = judge(spread.replace("tl.max", "tl.min"), **cases)
    assert wrong.judged and not wrong.passed


@pytest.mark.parametrize(
    ("expression", "keeps_nan"),
    [
        ("tl.maximum(x, -1e9)", False),
        ("tl.minimum(x, 1e9)", False),
        ("tl.clamp(x, -1e9, 1e9)", False),
        ("tl.maximum(x, -1e9, propagate_nan=tl.PropagateNan.ALL)", True),
        ("tl.minimum(x, 1e9, propagate_nan=tl.PropagateNan.ALL)", True),
        ("tl.clamp(x, -1e9, 1e9, propagate_nan=tl.PropagateNan.ALL)", True),
        ("tl.where(x > -1e9, x, x)", True),
    ],
)
def test_the_larger_of_a_number_and_nan_is_the_number_as_on_a_gpu(judge: Judge, expression: str, keeps_nan: bool) -> None:
    cases = {"cases": ({"n": 40},), "straddle": lambda block: (), "drawn": lambda numbers: (), "reference": torch.clone}
    report = judge(expression, make_inputs=with_nan, **cases)
    assert report.judged and report.passed == keeps_nan
