"""What lesson 16 asks: each answer is what running, compiling or counting gives, and no order of replies contradicts it."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from course_lib import catalog
from course_lib.catalog.lesson_16 import LESSON, LINES, NARROW_WARPS, READ_PTX, WARPS, naive_over_fused
from course_lib.catalog.model import Quiz
from course_lib.checking.quiz import quiz
from course_lib.checking.trace import trace
from course_lib.machine.compiled import compile_for
from tools import sources

SOURCE = Path(__file__).parents[1] / "lessons" / "16_self_check.md"
TEXT = SOURCE.read_text(encoding="utf-8")
QUIZZES = tuple(item for item in LESSON.items if isinstance(item, Quiz))


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_STATE_DIR", str(tmp_path / "state"))


HEADER = """
import torch
import triton
import triton.language as tl


@triton.jit
def masked_softmax_kernel(x_ptr, y_ptr, n_cols, MASK_LOAD: tl.constexpr, MASK_STORE: tl.constexpr, OTHER: tl.constexpr):
    columns = tl.arange(0, 8)
    inside = columns < n_cols
    if MASK_LOAD:
        x = tl.load(x_ptr + columns, mask=inside, other=-float("inf")) if OTHER else tl.load(x_ptr + columns, mask=inside)
    else:
        x = tl.load(x_ptr + columns)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + columns, e / tl.sum(e, axis=0), mask=inside | (not MASK_STORE))


def masked_softmax(x, mask_load, mask_store, other):
    y = torch.empty_like(x)
    masked_softmax_kernel[(1,)](x, y, x.shape[1], mask_load, mask_store, other)
    return y
"""


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The functions of the lesson and those above, in a module of their own."""
    cells = [cell.source for cell in sources.read_source(SOURCE).cells if cell.cell_type == "code"]
    functions = [node for cell in cells for node in ast.parse(cell).body if isinstance(node, ast.FunctionDef)]
    path = tmp_path_factory.mktemp("lesson") / "functions_of_lesson_16.py"
    path.write_text("\n\n\n".join([HEADER, *map(ast.unparse, functions)]) + "\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- the questions ----------------------------------------------------------------------------------------------------


def test_the_lesson_says_how_many_questions_there_are() -> None:
    assert f"{len(LESSON.items)} questions" in TEXT


@pytest.mark.parametrize("question", QUIZZES, ids=lambda question: question.name)
def test_the_right_answer_passes_and_the_last_hint_leads_to_a_lesson(question: Quiz) -> None:
    assert quiz(question.name, question.expected()).passed
    numbers = re.findall(r"\b\d\d(?=, | for )", question.hints[-1].text)
    assert numbers, question.hints[-1].text
    assert all(int(number) < 16 for number in numbers)


WRONG_ANSWERS = {
    "block_or_threads": ([10, 1024, 1], "blockDim"),
    "common_ground": ([1, 2, 3, 4], "thread's index"),
    "shares_of_rows": ([2, 2, 0], "2111"),
    "faulty_line": (8, "another program"),
    "wrong_stride": ([15, 11], "v[0, 0]"),
    "unmasked_widths": ([1024, 64], "next_power_of_2(1)"),
    "mask_left_out": (["neither", "strays", "both"], "undefined"),
    "column_bytes": ([64, 64], "whole sectors"),
    "where_or_mask": ([16, 16, 16], "arguments come first"),
    "right_other": (["0", "0", "inf", "1", "-inf"], "negative"),
    "softmax_order": ("DBFGAEC", "overflows"),
    "half_softmax": ([3, 0], "1 / inf"),
    "programs_started": ([6, 300, 792], "shared memory"),
    "formula_cases": (["right", "too many", "right", "none"], "// 0"),
    "both_ends": ([5, 8], "fused"),
    "what_bounds": (["memory", "memory", "wrong", "memory"], "0.2 µs"),
    "read_ptx": ([4, 512], "two loads"),
    "narrow_warps": ([32, 16, 8], "just enough"),
    "tests_that_see": ([1, 3], "divided by it"),
    "ones_added_up": ([4096, 4096], "one step at a time"),
    "passes_over_rows": ([1, 3, 2], "reads"),
}


def test_a_likely_wrong_answer_to_each_question_is_tried() -> None:
    assert set(WRONG_ANSWERS) == {question.name for question in QUIZZES}


@pytest.mark.parametrize("name", WRONG_ANSWERS)
def test_a_likely_wrong_answer_gets_a_reply_of_its_own(name: str) -> None:
    answer, part = WRONG_ANSWERS[name]
    report = quiz(name, answer)
    assert report.findings[0].kind == "wrong_answer"
    assert part in report.findings[0].message


def test_every_other_order_of_the_softmax_gets_a_reply() -> None:
    question = catalog.quiz("softmax_order")
    orders = {"".join(letters) for letters in itertools.permutations(LINES)}
    unanswered = {order for order in orders if not any(wrong.matches(order) for wrong in question.wrong)}
    assert unanswered == {question.expected()}


def test_each_line_of_the_expected_order_uses_only_what_earlier_ones_have_set() -> None:
    known: set[str] = set()
    for letter in catalog.quiz("softmax_order").expected():
        target = LINES[letter].partition(" = ")[0]
        used = set(re.findall(r"\b(row|columns|scores|top|powers|total)\b", LINES[letter])) - {target}
        assert used <= known
        known.add(target)
    assert {"row", "columns", "scores", "top", "powers", "total"} <= known


# --- what the answers rest on -----------------------------------------------------------------------------------------


def test_the_model_of_both_ends_goes_from_launches_to_bytes() -> None:
    assert naive_over_fused(64 * 2048) == 5
    assert naive_over_fused(4096 * 65536) == 4
    assert 4 < naive_over_fused(4096 * 1024) < 5


def test_what_bounds_is_told_in_figures_that_hold() -> None:
    def gbps(m: int, n: int, us: float) -> float:
        return 2 * m * n * 4 / us * 1e-3

    figures = [gbps(64, 2048, 6), gbps(4096, 16384, 134), gbps(4096, 4096, 20), gbps(4096, 16384, 700)]
    assert [round(figure) for figure in figures] == [175, 4006, 6711, 767]
    explanation = catalog.quiz("what_bounds").explanation
    assert all(f"{figure:.0f} GB/s" in explanation for figure in figures)
    assert f"{4 * round(figures[3])} GB/s" in explanation


def test_the_listing_is_of_so_many_warps_and_elements(lesson: ModuleType) -> None:
    warps, elements = READ_PTX.expected()
    x, y = torch.empty(elements, device="meta"), torch.empty(1, device="meta")
    ptx = compile_for(lesson.tile_sum_kernel, x, y, BLOCK_SIZE=elements, target="sm_90", num_warps=warps).ptx
    before, after = ptx.split("bar.sync", 1)
    assert before.count("ld.global.v4") * 4 * 32 * warps == elements
    assert 2 ** before.count("shfl.sync.bfly") == 32
    assert 2 ** after.count("shfl.sync.bfly") == warps


def test_loads_become_narrow_at_so_many_warps(lesson: ModuleType) -> None:
    x = torch.empty(1024, device="meta")
    narrow = []
    for warps in WARPS:
        code = compile_for(lesson.tile_copy_kernel, x, x, BLOCK_SIZE=1024, target="sm_90", num_warps=warps)
        if not code.count("LDG.128"):
            narrow.append(warps)
    assert narrow == NARROW_WARPS.expected()


VERSIONS = ((True, True, False), (True, False, True), (False, True, True))


def test_what_a_missing_mask_does(lesson: ModuleType) -> None:
    x = torch.tensor([[-3.0, -2.0, -4.0, -1.0, -5.0]])
    found = []
    for version in VERSIONS:
        run = trace(lesson.masked_softmax, x, *version)
        strays = any(len(event.outside) for event in run.events)
        values = not torch.allclose(run.result, torch.softmax(x, -1))
        found.append("both" if values and strays else "values" if values else "strays" if strays else "neither")
    assert found == catalog.quiz("mask_left_out").expected()


def test_the_line_to_blame_is_the_loop(lesson: ModuleType) -> None:
    text = next(line for line in TEXT.splitlines() if line.endswith(f"# {catalog.quiz('faulty_line').expected()}"))
    assert "tl.range(row_start, n_rows):" in text
    run = trace(lesson.rescan_softmax, torch.randn(7, 5))
    stores = [int(event.elements[0]) // 5 for event in run.events if event.kind == "store"]
    assert [stores.count(row) for row in range(7)] == [1, 2, 3, 4, 4, 4, 4]


def test_where_reads_all_and_a_mask_reads_few(lesson: ModuleType) -> None:
    x = torch.randn(256)
    read = [sum(len(event.elements) for event in trace(call, x).reads(x)) for call in (lesson.chosen, lesson.masked)]
    assert read == catalog.quiz("where_or_mask").expected()[:2]
