"""What lesson 02 shows: where a softmax breaks, what it moves, which roof it meets. And its quizzes agree with what runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from course_lib import catalog
from course_lib.machine.roofline import roofline
from course_lib.machine.specs import GPUS
from course_lib.machine.traffic import count_traffic
from course_lib.records import record
from tools import sources

LESSON = Path(__file__).parents[1] / "lessons" / "02_softmax_in_pytorch.md"
FUNCTIONS = ("by_the_formula", "stable", "stable_in_fp32", "naive_softmax")


@pytest.fixture(scope="module")
def lesson() -> dict[str, Any]:
    """The functions of the lesson, by their names."""
    cells = [cell.source for cell in sources.read_source(LESSON).cells if cell.cell_type == "code"]
    names: dict[str, Any] = {"torch": torch}
    for name in FUNCTIONS:
        source = next(source for source in cells if f"def {name}(" in source)
        exec(source.rpartition("\n\n\n")[0] or source, names)
    return names


def expected(name: str) -> Any:
    return catalog.quiz(name).expected()


def moved(steps: list[Any]) -> int:
    return sum(step.moved for step in steps)


def test_all_forms_agree_where_nothing_overflows(lesson: dict[str, Any]) -> None:
    x = torch.randn(5, 33)
    for name in FUNCTIONS:
        assert torch.allclose(lesson[name](x), torch.softmax(x, dim=1)), name


@pytest.mark.parametrize("moved_by", [100.0, -200.0])
def test_the_formula_breaks_where_the_lesson_says_so(lesson: dict[str, Any], moved_by: float) -> None:
    scores = torch.tensor([[2.0, 1.0, 0.0, -1.0, 3.0]])
    assert lesson["by_the_formula"](scores + moved_by).isnan().all()
    assert torch.equal(lesson["stable"](scores + moved_by), lesson["stable"](scores))


def test_a_single_infinity_spoils_the_row(lesson: dict[str, Any]) -> None:
    shares = lesson["by_the_formula"](torch.tensor([[88.0, 87.0, 89.0]]))
    assert shares[0, :2].tolist() == [0, 0] and shares[0, 2].isnan()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_loses_digits_unless_it_is_left(lesson: dict[str, Any], dtype: torch.dtype) -> None:
    x = (3 * torch.randn(64, 781, generator=torch.Generator().manual_seed(0))).to(dtype)
    right = torch.softmax(x.double(), dim=1)
    normal = right > 1e-4
    errors = [((lesson[name](x).double() - right).abs() / right)[normal].max() for name in ("stable", "stable_in_fp32")]
    assert errors[0] > 2 * errors[1]
    assert errors[1] <= torch.finfo(dtype).eps


@pytest.mark.parametrize(("dtype", "place"), [(torch.float32, 0), (torch.float16, 1), (torch.bfloat16, 2)])
def test_the_quiz_on_overflow_agrees_with_exp(dtype: torch.dtype, place: int) -> None:
    first = expected("first_infinite")[place]
    assert torch.exp(torch.tensor([first - 1, first], dtype=dtype)).isinf().tolist() == [False, True]


def test_the_naive_softmax_moves_four_times_as_much(lesson: dict[str, Any]) -> None:
    m, n = 7, 33
    x = torch.randn(m, n)
    assert moved(count_traffic(lesson["naive_softmax"], x)) == 4 * (8 * m * n + 4 * m)
    assert moved(count_traffic(lambda x: torch.softmax(x, dim=1), x)) == 4 * 2 * m * n


def test_half_precision_done_right_moves_more_than_single(lesson: dict[str, Any]) -> None:
    x = torch.randn(64, 781)
    half = moved(count_traffic(lesson["stable_in_fp32"], x.half()))
    assert half > moved(count_traffic(lesson["naive_softmax"], x)) > half / 2


def test_the_quiz_on_passes_agrees_with_the_count(lesson: dict[str, Any]) -> None:
    x = torch.randn(7, 33)
    assert [step.moved // x.nbytes for step in count_traffic(lesson["naive_softmax"], x)] == expected("naive_passes")


def test_the_quiz_on_bytes_agrees_with_the_count(lesson: dict[str, Any]) -> None:
    x = torch.randn(64, 1000).half()
    assert moved(count_traffic(lesson["naive_softmax"], x)) == expected("naive_bytes")


def test_the_quiz_on_roofs_names_the_ridges_that_there_are() -> None:
    question = catalog.quiz("which_roof").question
    told = [int(number) for number in re.findall(r"ridge at (\d+)", question)]
    assert told == [round(roofline(1, 1, gpu).ridge) for gpu in ("H200", "T4")]


@pytest.mark.parametrize("gpu", GPUS)
def test_a_softmax_is_bound_by_memory_everywhere(gpu: str) -> None:
    assert roofline(50, 8, gpu).bound == "memory"


def test_nothing_recorded_is_faster_than_the_bytes_allow() -> None:
    softmaxes = record("softmax", "h200")
    for provider, passes in (("naive", 8), ("ours", 2)):
        for point in softmaxes.select(provider=provider, m=4096, dtype="float32", how="cold"):
            if point.shape.n >= 16384:  # what is written of shorter rows may stay in the cache
                elements = passes * point.shape.m * point.shape.n
                assert point.ms * 1e-3 > roofline(5 * point.shape.m * point.shape.n, 4 * elements, softmaxes.device).seconds


def test_the_record_bears_out_what_the_lesson_says_of_it() -> None:
    softmaxes = record("softmax", "h200")
    for n in (1024, 4096, 16384, 65536):
        naive, fused = (softmaxes.point(provider, m=4096, n=n) for provider in ("naive", "ours"))
        assert naive.ms / fused.ms > 4
        assert 0.15 < softmaxes.share(naive) < 0.25
    naive, torchs, ours = (softmaxes.point(one, m=64, n=2048, how="replay") for one in ("naive", "torch", "ours"))
    assert naive.ms > 2 * torchs.ms > 2 * ours.ms
    naive, torchs = (softmaxes.point(one, m=64, n=2048, how="host") for one in ("naive", "torch"))
    assert naive.ms > 2 * torchs.ms
