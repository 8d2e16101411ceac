"""Long cases are interpreted like others, and compiled only where they launch a kernel of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from course_lib import catalog
from course_lib.catalog.model import Exercise
from course_lib.checking import sandbox
from course_lib.checking.bundle import bundle_file
from course_lib.checking.check import judge
from course_lib.checking.findings import Finding, Report
from course_lib.checking.outcome import Failure
from course_lib.checking.stages import interpreter
from course_lib.checking.stages.cases import Failed
from course_lib.checking.stages.work import Work

DOUBLE = catalog.exercise("double")
LONG = {"n": 5003}
SHORT = replace(DOUBLE, cases=({"n": 3}, {"n": 17}), long=(LONG,), straddle=lambda block: (), drawn=lambda numbers: ())

ANSWER = """
import torch, triton, triton.language as tl

@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.store(out_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask, other=0.0), mask=mask)

@triton.jit
def long_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    for start in tl.range(0, n, BLOCK_SIZE):
        offsets = start + tl.arange(0, BLOCK_SIZE)
        mask = offsets < n
        tl.store(out_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask, other=0.0), mask=mask)

def double(x):
    out = torch.empty_like(x)
    CHOSEN[(1,)](x, out, x.numel(), BLOCK_SIZE=LANES)
    return out
"""
CAPPED = ("double_kernel", "min(triton.next_power_of_2(x.numel()), 4096)")
COVERING = ("double_kernel", "triton.next_power_of_2(x.numel())")
BY_LENGTH = ("(long_kernel if x.numel() > 1000 else double_kernel)", "128")


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many elements the arguments have with which launches are compiled."""
    lengths: list[int] = []
    original = sandbox.run

    def run(bundle: Any, arguments: Any, **options: Any) -> Any:
        if options.get("mode") == "compile":
            lengths.extend(x.numel() for (x,) in arguments)
        return original(bundle, arguments, **options)

    monkeypatch.setattr(sandbox, "run", run)
    return lengths


def judged(folder: Path, exercise: Exercise, chosen: str, size: str) -> Report:
    path = folder / "answer.py"
    path.write_text(ANSWER.replace("CHOSEN", chosen).replace("LANES", size))
    return judge(exercise, lambda: bundle_file(path, "double"), seed=0, use_gpu=False)


def test_what_a_block_of_limited_size_leaves_out_shows_in_a_long_case(tmp_path: Path) -> None:
    report = judged(tmp_path, SHORT, *CAPPED)
    assert (report.findings[0].kind, report.findings[0].case) == ("unwritten", "n=5003")


def test_a_long_case_is_not_compiled_for_a_tile_that_covers_it(tmp_path: Path, compiled: list[int]) -> None:
    assert judged(tmp_path, SHORT, *COVERING).passed
    assert sorted(set(compiled)) == [3, 17]


def test_but_it_is_for_a_kernel_that_no_other_case_launches(tmp_path: Path, compiled: list[int]) -> None:
    assert judged(tmp_path, SHORT, *BY_LENGTH).passed
    assert sorted(set(compiled)) == [3, 17, LONG["n"]]


@pytest.mark.parametrize("wrong", [[Finding("mismatch", "3 of 3 elements are wrong")], []])
def test_a_case_that_takes_too_long_does_not_hide_what_finished_ones_show(
    wrong: list[Finding], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = Finding("timeout", "the answer had not finished")
    failed = Failed(Failure("timeout", "", "", (), 1, None), late)
    for name, result in (("run_cases", failed), ("use_of_memory", []), ("values", wrong)):
        monkeypatch.setattr(interpreter, name, lambda *arguments, result=result: result)
    path = tmp_path / "answer.py"
    path.write_text(ANSWER)
    assert interpreter.interpret(Work(SHORT, bundle_file(path, "double"), seed=0)) == (wrong or [late])
