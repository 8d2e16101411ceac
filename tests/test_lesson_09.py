"""What lesson 09 shows: what its kernel does and needs, on which GPUs; and its quizzes agree with what runs and compiles."""

from __future__ import annotations

import csv
import importlib.util
import itertools
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from course_lib import catalog, occupancy, trace
from course_lib.catalog.lesson_09 import FIRST_CALL, later_calls
from course_lib.figures.pipeline import turns
from course_lib.kernels import persistent, softmax
from course_lib.machine.compiled import CannotCompile, Compiled
from course_lib.machine.specs import GPUS, find_gpu
from tools import sources

ROOT = Path(__file__).parents[1]
LESSON = ROOT / "lessons" / "09_persistent_softmax.md"
HEADER = """
import torch
import triton
import triton.language as tl

from course_lib import compile_for
from course_lib.kernels import softmax
from course_lib.machine.specs import find_gpu
"""
SIX_GPUS = ("T4", "A100", "RTX 4090", "H100", "H200", "B200")


def cell_that_defines(path: Path, name: str) -> str:
    """The code cell that defines a function, without what follows the definitions."""
    notebook = sources.solution_notebook(path) if ".exercises" in path.name else sources.read_source(path)
    source = next(c.source for c in notebook.cells if c.cell_type == "code" and f"def {name}(" in c.source)
    return source.rpartition("\n\n\n")[0] if "\n\n\n" in source and "@triton.jit" not in source else source


def module_of(path: Path, source: str) -> ModuleType:
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The lesson's kernel and launcher, and its ways to compile."""
    kernel = cell_that_defines(LESSON, "with_programs").partition("\n\n\ntorch.manual_seed")[0]
    rest = (cell_that_defines(LESSON, name) for name in ("compiled", "compiled_for_call", "planned"))
    cells = [source.replace("from course_lib.catalog.lesson_09 import later_calls\n", "") for source in (kernel, *rest)]
    path = tmp_path_factory.mktemp("lesson") / "kernels_of_lesson_09.py"
    return module_of(path, "\n\n\n".join([HEADER, *(cell.partition("\n\n\ndef draw_")[0] for cell in cells)]) + "\n")


def expected(name: str) -> Any:
    return catalog.quiz(name).expected()


@pytest.mark.parametrize("n_programs", [1, 2, 6, 20, 33])
def test_the_result_does_not_depend_on_the_number_of_programs(lesson: ModuleType, n_programs: int) -> None:
    x = torch.randn(20, 33)
    torch.testing.assert_close(trace(lesson.with_programs, x, n_programs).result, torch.softmax(x, 1))


def test_the_quiz_on_rows_agrees_with_the_trace(lesson: ModuleType) -> None:
    x = torch.randn(20, 5)
    reads = [event for event in trace(lesson.with_programs, x, 3 * 2).reads(x) if event.program[0] == 4]
    assert [int(event.elements[0]) // 5 for event in reads] == expected("rows_of_program")


def test_a_grid_of_no_programs_writes_nothing(lesson: ModuleType) -> None:
    assert bool((trace(lesson.with_programs, torch.randn(3, 5), 0).result == -1).all())


def test_the_quiz_on_bytes_agrees_with_the_compiler(lesson: ModuleType) -> None:
    one, four = (lesson.compiled(1000, num_stages=stages).shared for stages in (1, 4))
    assert four - one == expected("bytes_ahead")


@pytest.mark.parametrize(
    ("gpu", "n_cols", "dtype", "ahead"),
    [
        ("H200", 1024, torch.float32, True),
        ("H200", 781, torch.float32, True),
        ("H200", 781, torch.float16, False),
        ("T4", 1024, torch.float32, False),
    ],
)
def test_the_compiler_grants_stages_or_declines(
    lesson: ModuleType, gpu: str, n_cols: int, dtype: torch.dtype, ahead: bool
) -> None:
    found = lesson.compiled(n_cols, gpu, dtype=dtype, num_stages=4)
    assert (found.count("LDGSTS") > 0) == ahead == (found.shared > 3 * 1024 * dtype.itemsize)


def test_four_stages_of_a_long_row_do_not_fit_and_those_that_the_launcher_chooses_do(lesson: ModuleType) -> None:
    with pytest.raises(CannotCompile, match="bytes of shared memory"):
        lesson.compiled(32768, num_warps=32, num_stages=4)
    how = persistent.choose(32768, 4, find_gpu("H200").architecture.max_shared_per_block)
    found = lesson.compiled(32768, num_warps=how.num_warps, num_stages=how.num_stages)
    assert occupancy(found, "H200").programs_per_sm == 1


def test_the_quiz_on_what_is_compiled_anew_agrees_with_the_compiler(lesson: ModuleType) -> None:
    first = lesson.compiled_for_call(**{**FIRST_CALL, "row_stride": FIRST_CALL["n_cols"]})
    anew = [number for number, call in enumerate(later_calls(), 1) if lesson.compiled_for_call(**call).sass != first.sass]
    assert anew == expected("compiled_anew")


def test_a_program_without_shared_memory_is_shown(lesson: ModuleType) -> None:
    assert lesson.compiled(32, "T4", num_warps=1).shared == 0


def test_threads_limit_where_registers_would_allow_more(lesson: ModuleType) -> None:
    found: Compiled = lesson.compiled(100, "T4")
    assert occupancy(found, "T4").limiter == "threads"
    assert find_gpu("T4").architecture.registers // (found.registers * found.threads) > occupancy(found, "T4").programs_per_sm


@pytest.mark.parametrize("n_cols", [128, 1000, 4096, 16384])
@pytest.mark.parametrize("gpu", SIX_GPUS)
def test_the_finished_softmax_fits_on_each_gpu_and_spills_nothing(lesson: ModuleType, gpu: str, n_cols: int) -> None:
    found: Compiled = lesson.planned(n_cols, gpu)
    assert found.num_warps == softmax.plan(n_cols, 4, starts="aligned" if n_cols % 16 == 0 else "alike").num_warps
    assert found.spills == 0
    assert occupancy(found, gpu).programs_per_sm >= 1


def test_the_exercises_solution_agrees_with_nvidias_calculator(tmp_path: Path) -> None:
    source = cell_that_defines(ROOT / "lessons" / "09_persistent_softmax.exercises.md", "programs_per_sm")
    solution = module_of(tmp_path / "programs_per_sm_solved.py", HEADER + source).programs_per_sm
    name_of = {gpu.target: gpu.name for gpu in GPUS.values()}
    lines = Path(__file__).with_name("occupancy_by_nvidia.csv").read_text().splitlines()
    _, *cases = csv.reader(line for line in lines if not line.startswith("#"))
    whole = [(t, *map(int, rest)) for t, *rest in cases]
    judged = [case for case in whole if 1 <= case[1] <= 255 and case[3] % 32 == 0 and case[3] <= 1024]
    assert len(judged) > 100
    wrong = [case for case in judged if solution(case[1], case[2], case[3] // 32, name_of[case[0]]) != case[4]]
    assert wrong == []


# --- the picture of a pipeline ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_stages", [1, 2, 3, 5, 9])
@pytest.mark.parametrize(("load", "compute"), [(4, 1), (1, 3), (2, 2)])
def test_a_pipeline_computes_row_after_row_and_keeps_few_ahead(num_stages: int, load: int, compute: int) -> None:
    found = turns(12, num_stages, load, compute)
    for before, turn in itertools.pairwise(found):
        assert turn.begun >= before.done
    for turn in found:
        assert turn.there - turn.asked == load and turn.done - turn.begun == compute and turn.begun >= turn.there
        waiting = [other for other in found if other.asked <= turn.asked and other.begun > turn.asked]
        assert len(waiting) <= max(1, num_stages - 1)


def test_one_stage_waits_for_each_row_and_enough_stages_for_the_first_alone() -> None:
    assert turns(7, 1, 4, 1)[-1].done == 7 * (4 + 1)
    assert turns(7, 6, 4, 1)[-1].done == 4 + 7 * 1
