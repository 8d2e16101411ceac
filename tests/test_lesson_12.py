"""What lesson 12 shows of its cases: as found, they fail as it says; its quizzes agree with what runs; its picture."""

from __future__ import annotations

import ast
import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from matplotlib.text import Text

from course_lib import catalog, compile_for, trace
from course_lib.catalog.model import Exercise
from course_lib.figures import draw_wrong
from course_lib.machine.compiled import CannotCompile
from tools import sources

LESSONS = Path(__file__).parents[1] / "lessons"
LESSON, EXERCISES = (sources.read_source(LESSONS / f"12_case_files{suffix}.md") for suffix in ("", ".exercises"))
HEADER = """
import math
import torch
import triton
import triton.language as tl

from course_lib.machine.warp import run_block
"""


def definitions(notebook: Any) -> dict[str, str]:
    """The source of every function that a notebook defines, by name."""
    cells = (cell.source for cell in notebook.cells if cell.cell_type == "code")
    return {
        node.name: "\n".join(source.splitlines()[_first_line(node) - 1 : node.end_lineno])
        for source in cells
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
    }


def _first_line(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The functions of the lesson, in a module of their own."""
    path = tmp_path_factory.mktemp("lesson") / "functions_of_lesson_12.py"
    path.write_text("\n\n\n".join([HEADER, *definitions(LESSON).values()]) + "\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def expected(name: str) -> Any:
    return catalog.quiz(name).expected()


def test_the_exercises_give_each_case_as_the_lesson_found_it() -> None:
    found, given = definitions(LESSON), definitions(EXERCISES)
    shared = {"sum_of_lanes", "softmax_rows_kernel"} | {name for name in given if name.startswith("found_")}
    assert len(shared) > len(
        [item for item in catalog.items() if item.lesson == "12_case_files" and isinstance(item, Exercise)]
    )
    assert {name: given[name] for name in shared} == {name: found[name] for name in shared}


@pytest.mark.parametrize("n_cols", range(1, 17))
def test_a_sum_of_padding_is_the_logarithm_of_the_spare_lanes(lesson: ModuleType, n_cols: int) -> None:
    got = trace(lesson.found_zero_padding, torch.full((1, n_cols), -300.0)).result.item()
    assert (math.isclose(got, math.log(3), rel_tol=1e-4)) == (n_cols in expected("telltale_value"))


def test_whole_warps_are_counted(lesson: ModuleType) -> None:
    factor = abs(lesson.found_partial_warp((1.0, -1.0) * 90, 180)[0])
    assert factor == pytest.approx(1.0607, rel=1e-4)
    assert round(180 / factor**2) == expected("threads_counted")


def test_rows_of_equal_numbers_hide_that_sums_are_not_rescaled(lesson: ModuleType) -> None:
    equal, rising = torch.ones(2, 200), torch.linspace(0, 5, 200).repeat(2, 1)
    right = [torch.allclose(trace(lesson.found_online_sum, x).result, torch.softmax(x, dim=1)) for x in (equal, rising)]
    assert right == [True, False]


def test_the_first_state_that_wraps_is_the_one_that_the_quiz_expects(lesson: ModuleType) -> None:
    stride, first = 2**17, expected("first_wrapped")
    index = torch.tensor([first - 1, first], dtype=torch.int32)
    off = index.long() * stride - trace(lesson.found_wrapped_offsets, index, stride).result
    assert off.tolist() == [0, 2**32]


def test_a_widened_stride_does_not_compile_where_it_is_1(lesson: ModuleType) -> None:
    types = (torch.int32, torch.int64, 10)
    assert compile_for(lesson.stride_widened_kernel, *types, 3, BLOCK_SIZE=16)
    with pytest.raises(CannotCompile):
        compile_for(lesson.stride_widened_kernel, *types, 1, BLOCK_SIZE=16)


def test_only_a_view_that_fills_its_memory_gets_a_result_in_another_order(lesson: ModuleType) -> None:
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(0))
    views = (x, x[:, ::2], x[:, 1:4], x.t())
    right = [torch.allclose(trace(lesson.found_transposed_view, x).result, torch.nn.functional.silu(x)) for x in views]
    assert right == [True, True, True, False]


@pytest.mark.parametrize("block_size", [4, 8, 16, 32, 64])
def test_blocks_that_leave_their_row_are_those_that_the_quiz_expects(lesson: ModuleType, block_size: int) -> None:
    factors = torch.tensor([2.0, 3.0, 5.0])
    got = trace(lesson.scale_by_blocks, torch.ones(3, 20), factors, block_size).result
    wrong = got != torch.ones(3, 20) * factors[:, None]
    assert bool(wrong.any()) == (block_size in expected("wrong_blocks"))
    assert not bool(wrong[0].any())


def test_the_tests_that_never_fail_are_those_in_which_no_place_comes_twice(lesson: ModuleType) -> None:
    random = torch.Generator().manual_seed(0)
    tests = (
        torch.arange(64),
        torch.zeros(64, dtype=torch.int64),
        torch.randperm(64, generator=random),
        torch.randint(0, 64, (64,), generator=random),
    )
    values = torch.arange(1.0, 65.0)
    right = [
        torch.equal(
            trace(lesson.found_lost_update, index.int(), values, 64).result, values.new_zeros(64).index_add(0, index, values)
        )
        for index in tests
    ]
    assert [number for number, passed in enumerate(right, 1) if passed] == expected("no_test_sees")


@pytest.mark.parametrize(("kernel", "barriers"), [("found_differences_kernel", 0), ("waiting_differences_kernel", 1)])
def test_nothing_waits_between_the_store_and_the_load_but_a_barrier(lesson: ModuleType, kernel: str, barriers: int) -> None:
    types = (torch.float32,) * 3
    code = compile_for(getattr(lesson, kernel), *types, 1000, 1000, 1000, BLOCK_SIZE=1024, target="sm_90")
    assert code.count("BAR") == barriers


@pytest.mark.parametrize(
    ("row_stride", "offset", "wide"), [(1024, 0, True), (1040, 0, True), (1025, 0, False), (1024, 1, False)]
)
def test_one_key_stands_for_wide_and_for_narrow_loads(lesson: ModuleType, row_stride: int, offset: int, wide: bool) -> None:
    memory = torch.empty(offset + 4 * row_stride, device="meta")
    x = memory.as_strided((4, 1024), (row_stride, 1), offset)
    out = torch.empty(4, 1024, device="meta")
    code = compile_for(lesson.softmax_rows_kernel, x, out, row_stride, 1024, 1024, BLOCK_SIZE=1024, target="sm_90")
    assert bool(code.count("LDG.128")) == wide


# --- the picture of a wrong result ------------------------------------------------------------------------------------


def words(picture: Any) -> list[str]:
    return [text.get_text() for text in picture.findobj(Text) if text.get_text()]


def test_wrong_elements_say_whose_value_they_hold() -> None:
    picture = draw_wrong([[1.0, 3.0, 7.0], [2.0, 5.0, 6.0]], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert picture.alt == "3 of 6 elements are wrong: (0, 1) holds (0, 2), (0, 2) holds ?, (1, 0) holds (0, 1)"
    assert {"0,2", "?", "0,1"} <= set(words(picture))


def test_a_value_that_several_should_have_tells_nothing_and_nan_is_nan() -> None:
    picture = draw_wrong([[1.0, math.nan], [1.0, 9.0]], [[1.0, math.nan], [9.0, 1.0]])
    assert picture.alt == "2 of 4 elements are wrong: (1, 0) holds ?, (1, 1) holds (1, 0)"


def test_of_many_wrong_elements_words_tell_the_first() -> None:
    picture = draw_wrong([[2.0, 3.0, 4.0, 5.0, 6.0, 1.0]], [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])
    assert picture.alt.startswith("6 of 6 elements are wrong: (0, 0) holds (0, 1), ")
    assert picture.alt.endswith("(0, 3) holds (0, 4), …")


def test_a_right_result_has_no_wrong_elements() -> None:
    assert draw_wrong([[1.0, 2.0]], [[1.0, 2.0]]).alt == "0 of 2 elements are wrong"


@pytest.mark.parametrize("got", [[[1.0], [2.0]], [[1.0, 2.0, 3.0]]])
def test_matrices_of_other_shapes_are_no_picture(got: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="same shape"):
        draw_wrong(got, [[1.0, 2.0]])
