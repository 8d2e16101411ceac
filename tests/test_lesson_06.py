"""What lesson 06 shows: its kernels, what padding and types do to them, where the shuffles stand; and its quizzes agree."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from course_lib import catalog, check, compile_for, trace
from course_lib.catalog.lesson_06 import MOST_LANES, WIDTHS
from course_lib.machine.compiled import CannotCompile
from tools import sources

LESSON = Path(__file__).parents[1] / "lessons" / "06_reductions_and_loops.md"
HEADER = "import torch\nimport triton\nimport triton.language as tl\n"
INTEGER_START = """def integer_start(x):
    out = torch.empty(1, dtype=x.dtype, device=x.device)
    integer_start_kernel[(1,)](x, out, x.numel(), BLOCK_SIZE=4)
    return out
"""
FUNCTIONS = ("zero_padded", "looped_sums", "integer_start_kernel", "trapped", "counting", "eager_sums_kernel")


def cell_that_defines(name: str) -> str:
    """The lesson's code cell that defines a function, up to the first line behind its definitions."""
    cells = (cell.source for cell in sources.read_source(LESSON).cells if cell.cell_type == "code")
    source = next(source for source in cells if f"def {name}(" in source)
    pieces = source.split("\n\n\n")
    return "\n\n\n".join(piece for piece in pieces if piece.startswith(("@", "def ")))


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The lesson's kernels and launchers."""
    path = tmp_path_factory.mktemp("lesson") / "kernels_of_lesson_06.py"
    path.write_text("\n\n\n".join((HEADER, *map(cell_that_defines, FUNCTIONS), INTEGER_START)))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def expected(name: str) -> Any:
    return catalog.quiz(name).expected()


def test_the_quiz_on_widths_agrees_with_the_kernel_that_pads_with_zeros(lesson: ModuleType) -> None:
    negative = {n: -1 - torch.rand(4, n) for n in WIDTHS}
    right = [n for n, x in negative.items() if torch.equal(trace(lesson.zero_padded, x).result, x.amax(dim=1))]
    assert right == expected("surviving_widths")


def test_the_quiz_on_turns_agrees_with_the_loop(lesson: ModuleType) -> None:
    loads = trace(lesson.looped_sums, torch.ones(1, 1000)).reads("x_ptr")
    assert [len(loads), loads[-1].masked] == expected("loop_turns")


def test_the_quiz_on_the_variance_agrees_with_the_trap(lesson: ModuleType) -> None:
    got = trace(lesson.trapped, torch.full((1, 5), 2.0)).result
    assert round(10 * got.item()) == expected("variance_of_padding")


@pytest.mark.parametrize("n_cols", [1, 255, 256, 257, 3000])
def test_the_looped_sums_take_rows_of_any_length(lesson: ModuleType, n_cols: int) -> None:
    x = torch.randn(3, n_cols)
    assert torch.allclose(trace(lesson.looped_sums, x).result, x.sum(dim=1), atol=1e-3)


def test_an_integer_that_turns_to_a_float_in_a_loop_runs_in_the_interpreter_and_does_not_compile(lesson: ModuleType) -> None:
    x = torch.ones(11)
    assert trace(lesson.integer_start, x).result.item() == 11
    with pytest.raises(CannotCompile, match="Loop-carried variable total"):
        compile_for(lesson.integer_start_kernel, x, x, 11, BLOCK_SIZE=4)


def test_counting_with_atomics_leaves_out_what_has_no_bin(lesson: ModuleType) -> None:
    x = torch.tensor([2, 0, 2, -1, 1, 2, 9], dtype=torch.int32)
    assert trace(lesson.counting, x, 4).result.tolist() == [1, 1, 3, 0]


@pytest.mark.parametrize(("kernel", "line"), [("looped_sums_kernel", "tl.store"), ("eager_sums_kernel", "total +=")])
def test_the_shuffles_stand_behind_the_loop_only_if_a_tile_is_the_accumulator(
    lesson: ModuleType, kernel: str, line: str
) -> None:
    x, out = torch.empty(4, 10_000, device="meta"), torch.empty(4, device="meta")
    compiled = compile_for(getattr(lesson, kernel), x, out, 10_000, 1, 10_000, BLOCK_SIZE=1024)
    sources_of_shuffles = [source.text for source, code in compiled.lines().items() if any(i.matches("SHFL") for i in code)]
    assert sources_of_shuffles and all(text.startswith(line) for text in sources_of_shuffles)


def test_a_block_that_grows_with_the_row_is_refused_with_its_reason() -> None:
    path = Path(__file__).parent / "mutants" / "long_row_sum" / "block_covers_the_row.py"
    spec = importlib.util.spec_from_file_location("block_covers_the_row", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules["block_covers_the_row"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    report = check("long_row_sum", module.long_row_sum, seed=0)
    assert [finding.kind for finding in report.findings] == ["not_as_asked"]
    assert f"{MOST_LANES} are the most that may be" in report.findings[0].message
    assert report.hint and "next_power_of_2" in report.hint
