"""What lesson 05 shows: `where` computes and loads both sides, a fused kernel moves least; and its quizzes agree with that."""

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
from course_lib.checking.compare import compare
from course_lib.machine.compiled import CannotCompile
from course_lib.machine.traffic import count_traffic
from tools import sources

LESSON = Path(__file__).parents[1] / "lessons" / "05_elementwise_and_where.md"
HEADER = "import torch\nimport triton\nimport triton.language as tl\n"
DEFINED = (
    "launch",
    "plus_one_kernel",
    "two_ways",
    "two_sides_kernel",
    "guarded_by_where",
    "magnitudes",
    "scaled_sum",
    "tanh_gelu",
)
TWO_SUMS = """


def two_sums(x):
    two = torch.empty(2, device=x.device)
    plus_one_kernel[(1,)](x, two)
    return two
"""
VECTOR = torch.empty(1000, device="meta")


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The functions and kernels that cells of the lesson define."""
    cells = [cell.source for cell in sources.read_source(LESSON).cells if cell.cell_type == "code"]
    defining = [next(source for source in cells if f"def {name}(" in source).rpartition("\n\n\n")[0] for name in DEFINED]
    path = tmp_path_factory.mktemp("lesson") / "kernels_of_lesson_05.py"
    path.write_text("\n\n\n".join([HEADER, *defining]) + TWO_SUMS)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def expected(name: str) -> Any:
    return catalog.quiz(name).expected()


def test_the_quiz_on_fp16_agrees_with_the_kernel(lesson: ModuleType) -> None:
    assert trace(lesson.two_sums, torch.tensor([2048.0]).half()).result.tolist() == expected("half_arithmetic")


def test_a_product_with_zero_keeps_what_a_choice_forgets(lesson: ModuleType) -> None:
    steps = trace(lesson.two_ways, torch.tensor([2.0, 0.0, -1.0, math.inf])).result
    assert steps[2:].isnan().sum(dim=1).tolist() == expected("chosen_or_weighted")


def test_a_choice_compiles_to_both_sides_and_no_branch(lesson: ModuleType) -> None:
    one, both = (
        compile_for(kernel, VECTOR, VECTOR, 1000, BLOCK_SIZE=128)
        for kernel in (lesson.one_side_kernel, lesson.two_sides_kernel)
    )
    assert [c.count("MUFU.EX2") for c in (one, both)] == [1, 1]
    assert [c.count("MUFU.RSQ") for c in (one, both)] == [0, 1]
    assert one.count("BRA") == both.count("BRA")


def test_a_load_inside_a_choice_reads_before_the_start(lesson: ModuleType) -> None:
    first = trace(lesson.guarded_by_where, torch.arange(5.0)).reads("x_ptr")[0]
    assert sorted([*first.outside.tolist(), *first.elements.tolist()]) == expected("guarded_by_where")
    assert first.outside.tolist() == [-1]


def test_an_if_on_a_tile_goes_one_way_and_does_not_compile(lesson: ModuleType) -> None:
    x = torch.tensor([-1.0, 2.0, -3.0])
    assert torch.equal(trace(lesson.magnitudes, x).result, x)
    with pytest.raises(CannotCompile, match="ambiguous"):
        compile_for(lesson.branching_kernel, VECTOR, VECTOR, 1000, BLOCK_SIZE=256)


@pytest.mark.parametrize(("weight", "n_bytes"), [(2.0, 1200), (0.0, 0)])
def test_an_if_on_a_number_leaves_out_what_stands_under_it(lesson: ModuleType, weight: float, n_bytes: int) -> None:
    x, y = torch.randn(300), torch.randn(300)
    seen = trace(lesson.scaled_sum, x, y, weight)
    assert torch.allclose(seen.result, x + weight * y)
    assert seen.traffic()["y_ptr"]["read"] == n_bytes


def test_the_quiz_on_bytes_agrees_with_both_counts(lesson: ModuleType) -> None:
    x = torch.randn(1000)
    in_torch = sum(step.moved for step in count_traffic(lesson.gelu_in_torch, x))
    in_one = sum(sum(way.values()) for way in trace(lesson.tanh_gelu, x).traffic().values())
    assert [in_torch, in_one] == expected("gelu_bytes")


def test_the_tolerance_of_gelu_has_room_for_a_rough_erf_and_none_for_approximations() -> None:
    gelu = catalog.exercise("gelu")
    x = torch.linspace(-6, 6, 2001)
    right = gelu.reference(x)
    assert isinstance(right, torch.Tensor)
    unsettled = (x.abs() < 5.5).float()  # where erf(x / √2) is not yet ±1 in fp32
    assert compare(right + 0.5 * x * 3e-5 * unsettled, right, gelu.tolerance) is None
    for other in (torch.nn.functional.gelu(x, approximate="tanh"), x * torch.sigmoid(1.702 * x)):
        assert compare(other, right, gelu.tolerance) is not None
