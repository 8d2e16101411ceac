"""What lesson 08 shows: what its kernel moves, and what `num_warps` changes in it. And its quizzes agree with what runs."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from course_lib import catalog, compile_for, trace
from course_lib.catalog.lesson_08 import SPECIAL_ROWS
from course_lib.machine.compiled import Compiled
from tools import sources

LESSON = Path(__file__).parents[1] / "lessons" / "08_fused_softmax.md"
HEADER = "import torch\nimport triton\nimport triton.language as tl\n"


def cell_that_defines(name: str) -> str:
    """The lesson's code cell that defines a function, without what follows the definitions."""
    cells = (cell.source for cell in sources.read_source(LESSON).cells if cell.cell_type == "code")
    source = next(source for source in cells if f"def {name}(" in source)
    return source.rpartition("\n\n\n")[0] or source


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The fused softmax of the lesson."""
    path = tmp_path_factory.mktemp("lesson") / "kernels_of_lesson_08.py"
    path.write_text(f"{HEADER}\n\n{cell_that_defines('fused_softmax')}\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def expected(name: str) -> Any:
    return catalog.quiz(name).expected()


def moved(lesson: ModuleType, x: torch.Tensor) -> int:
    return sum(sum(way.values()) for way in trace(lesson.fused_softmax, x).traffic().values())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_the_fused_softmax_moves_each_element_twice(lesson: ModuleType, dtype: torch.dtype) -> None:
    assert moved(lesson, torch.randn(5, 33).to(dtype)) == 2 * 5 * 33 * dtype.itemsize


def test_the_quiz_on_bytes_agrees_with_the_trace(lesson: ModuleType) -> None:
    assert moved(lesson, torch.randn(6, 11)) == expected("fused_bytes")


def test_the_quiz_on_nan_agrees_with_the_kernel(lesson: ModuleType) -> None:
    result = trace(lesson.fused_softmax, torch.tensor(SPECIAL_ROWS)).result
    assert result.isnan().sum(dim=1).tolist() == expected("nan_counts")


def compiled(lesson: ModuleType, n_cols: int, block_size: int, num_warps: int) -> Compiled:
    x = torch.empty(4, n_cols, device="meta")
    strides = (n_cols, 1, n_cols, 1)
    return compile_for(lesson.softmax_kernel, x, x, *strides, n_cols, BLOCK_SIZE=block_size, num_warps=num_warps)


@pytest.mark.parametrize("num_warps", [1, 4, 32])
def test_more_warps_mean_fewer_elements_a_thread_and_more_exchanges(lesson: ModuleType, num_warps: int) -> None:
    found = compiled(lesson, 1000, 1024, num_warps)
    assert found.count("LDG") == found.count("MUFU.EX2") == 1024 // found.threads
    assert found.count("SHFL") == 2 * (5 + math.log2(num_warps))
    assert (found.shared > 0) == (found.count("BAR") > 0) == (num_warps > 1)


def test_a_row_of_65536_elements_finds_no_room_in_registers(lesson: ModuleType) -> None:
    assert compiled(lesson, 16384, 16384, 8).spills == 0
    assert compiled(lesson, 65536, 65536, 8).spills > 0
    assert compiled(lesson, 65536, 65536, 32).spills > 0
