"""What lesson 14 says of orders, sums, tiles and tuning; and that its quizzes agree with what runs."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from course_lib import catalog, compile_for, trace
from course_lib.catalog.lesson_14 import LARGE, MOST_APART
from course_lib.checking.check import check_file
from course_lib.machine.compiled import Compiled
from course_lib.machine.roofline import roofline
from course_lib.machine.tile_order import in_groups, rows_and_columns
from tools import sources
from tools.build import ROOT

LESSON = ROOT / "lessons" / "14_matmul.md"
HEADER = """
import torch
import triton
import triton.language as tl

from course_lib.machine.specs import find_gpu
from course_lib.machine.tile_order import fetched, in_groups

DEVICE = 'cpu'
H200 = find_gpu('H200')
F16 = torch.float16
"""
FOOTER = """


def in_fp16(a, b):
    return sums(a, b, tl.float16)


def in_fp32(a, b):
    return sums(a, b, tl.float32)


def order(n_rows, n_cols, group):
    out = torch.full((n_rows, n_cols), -1, dtype=torch.int32)
    order_kernel[(n_rows * n_cols,)](out, n_rows, n_cols, GROUP=group)
    return out
"""
F16 = torch.float16


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The functions of the lesson, as a module, with the configurations that two of them are tuned by."""
    cells = [cell.source for cell in sources.read_source(LESSON).cells if cell.cell_type == "code"]
    nodes = [node for cell in cells for node in ast.parse(cell).body]
    kept = [
        ast.unparse(node)
        for node in nodes
        if (isinstance(node, ast.FunctionDef) and "draw" not in node.name)
        or (isinstance(node, ast.Assign) and "triton.Config" in ast.unparse(node))
    ]
    path = tmp_path_factory.mktemp("lesson") / "functions_of_lesson_14.py"
    path.write_text(HEADER + "\n\n".join(kept) + FOOTER)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def whole(*shape: int) -> torch.Tensor:
    return torch.randint(-8, 9, shape, generator=torch.Generator().manual_seed(0)).half()


# --- the order ----------------------------------------------------------------------------------------------------------


def test_what_tiles_ask_for_is_bound_by_memory_and_the_work_is_not(lesson: ModuleType) -> None:
    n = 8192
    assert roofline(2 * n**3, 6 * n * n, "H200", "fp16").bound == "compute"
    assert all(roofline(2 * n**3, lesson.asked(n, *tile), "H200", "fp16").bound == "memory" for tile in ((32, 32), (128, 256)))
    assert lesson.asked(n, 128, 256) > 10 * 6 * n * n


@pytest.mark.parametrize(("n_rows", "n_cols", "group"), [(5, 4, 2), (5, 6, 2), (7, 3, 4), (3, 3, 9)])
def test_the_kernels_order_is_the_models(lesson: ModuleType, n_rows: int, n_cols: int, group: int) -> None:
    got = trace(lesson.order, n_rows, n_cols, group).result
    assert [divmod(int((got == program).flatten().nonzero()), n_cols) for program in range(n_rows * n_cols)] == in_groups(
        n_rows, n_cols, group
    )


def test_the_quiz_on_a_programs_tile_agrees_with_the_kernel(lesson: ModuleType) -> None:
    got = trace(lesson.order, 5, 6, 2).result
    places = [number for program in (17, 27) for number in divmod(int((got == program).flatten().nonzero()), 6)]
    assert places == catalog.quiz("tile_of_program").expected()


def test_the_quiz_on_tiles_in_flight_agrees_with_the_trace(lesson: ModuleType) -> None:
    needed = []
    for group in (1, 8):
        traced = trace(lesson.matmul, torch.ones(256, 16, dtype=F16), torch.ones(16, 256, dtype=F16), 16, group)
        a, b = traced.arguments[:2]
        first = [[event for event in traced.reads(x) if event.program[0] < 32] for x in (a, b)]
        rows = {int(event.elements.min()) // 16 // 16 for event in first[0]}
        columns = {int(event.elements.min()) % 256 // 16 for event in first[1]}
        needed.append(len(rows) + len(columns))
    assert needed == catalog.quiz("tiles_in_flight").expected()


def test_no_wrong_answer_to_a_quiz_is_right() -> None:
    for name in ("tile_of_program", "tiles_in_flight"):
        quiz = catalog.quiz(name)
        assert quiz.accepts(quiz.expected())
        assert not any(one.matches(quiz.expected()) for one in quiz.wrong)


def test_the_order_matters_where_the_cache_does_not_hold_the_matrices(lesson: ModuleType) -> None:
    small, large = ([lesson.from_memory(n, group) for group in (1, 16)] for n in (4096, 16384))
    assert small[0] == pytest.approx(small[1], rel=0.15)
    assert large[0] > 3 * large[1]


def test_the_product_is_exact_for_whole_numbers_of_any_layout(lesson: ModuleType) -> None:
    a, b = whole(50, 35), whole(35, 70)
    want = (a.float() @ b.float()).half()
    assert torch.equal(trace(lesson.matmul, a, b).result, want)
    assert torch.equal(trace(lesson.matmul, b.t(), a.t()).result, want.t())


# --- sums and tiles -----------------------------------------------------------------------------------------------------


def test_a_sum_in_fp16_stands_still(lesson: ModuleType) -> None:
    """Each step adds 16; from 32768 on, fp16 numbers are 32 apart."""
    ones = torch.full((16, 2048 + 512), 4.0, dtype=F16)
    assert (trace(lesson.in_fp32, ones, ones.t().contiguous()).result == 16 * 2560).all()
    steps = torch.cat([torch.full((16, 2048), 4.0), torch.ones(16, 512)], 1).half()
    assert (trace(lesson.in_fp16, steps, steps.t().contiguous()).result == 32768).all()


def compiled(lesson: ModuleType, block_n: int, num_warps: int, target: str) -> Compiled:
    blocks = {"BLOCK_M": 128, "BLOCK_N": block_n, "BLOCK_K": 64, "GROUP": 8}
    sizes = (4096, 4096, 4096, 4096, 1, 4096, 1)
    options = {"num_warps": num_warps, "num_stages": 3, "target": target}
    return compile_for(lesson.matmul_kernel, F16, F16, F16, *sizes, **blocks, **options)


def test_the_largest_tile_needs_eight_warps(lesson: ModuleType) -> None:
    assert compiled(lesson, 256, 4, "sm_90").spills > 0
    found = compiled(lesson, 256, 8, "sm_90")
    assert found.spills == 0
    assert "wgmma.mma_async" in found.ptx
    assert "mma.sync" in compiled(lesson, 128, 4, "sm_80").ptx


def test_descriptors_copy_tiles_and_save_registers(lesson: ModuleType) -> None:
    blocks = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP": 8}
    by_tiles = compile_for(lesson.described_kernel, F16, F16, F16, 4096, 4096, 4096, **blocks, num_warps=4, target="sm_90")
    by_pointers = compiled(lesson, 128, 4, "sm_90")
    assert "cp.async.bulk.tensor" in by_tiles.ptx and "cp.async.bulk.tensor" not in by_pointers.ptx
    assert by_tiles.registers < by_pointers.registers


# --- the exercise -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", range(2, 9))
def test_groups_of_two_to_eight_rows_are_near_enough_and_lines_are_not(group: int) -> None:
    def apart(order: list[tuple[int, int]]) -> float:
        starts = range(0, len(order) - 15, 16)
        return sum(sum(rows_and_columns(order[start : start + 16])) for start in starts) / len(starts)

    for size in (LARGE, LARGE + 1, 2 * LARGE):
        assert apart(in_groups(size, size, group)) <= MOST_APART < apart(in_groups(size, size, 1))
        assert apart(in_groups(size, size, size)) > MOST_APART


def test_inputs_add_up_exactly_in_fp32_in_any_order() -> None:
    exercise = catalog.exercise("matmul_grouped")
    for case in (*exercise.cases, *exercise.long):
        a, b = exercise.make_inputs(torch.Generator().manual_seed(1), **case)
        assert a.dtype == b.dtype == F16
        exact = a.double() @ b.double()
        turned = a.float().flip(1) @ b.float().flip(0)
        assert torch.equal(turned.double(), exact) and torch.equal((a.float() @ b.float()).double(), exact)


def test_large_sums_leave_fp16_and_come_back() -> None:
    a, b = catalog.exercise("matmul_grouped").make_inputs(torch.Generator().manual_seed(1), 21, 18, 130, values="large")
    assert (a[:, :65].double() @ b[:65].double()).min() > 65504
    assert (a.double() @ b.double()).abs().max() < 65504


def test_a_wrong_order_is_told_with_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_STATE_DIR", str(tmp_path / "state"))
    report = check_file("matmul_grouped", ROOT / "tests/mutants/matmul_grouped/row_by_row.py", seed=0)
    (finding,) = report.findings
    assert finding.kind == "not_as_asked"
    assert "15.2 rows and columns of tiles" in finding.message and "at most 11.5" in finding.message
