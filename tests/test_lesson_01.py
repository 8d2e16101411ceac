"""What lesson 01 shows: the same kinds of instruction by hand and by Triton. And its quizzes agree with what runs."""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from course_lib import catalog, compile_for
from course_lib.machine.compiled import Compiled
from course_lib.machine.cuda import SOURCES, compile_cuda, cuda_source
from course_lib.machine.warp import Thread, run_block
from tools import sources

LESSON = Path(__file__).parents[1] / "lessons" / "01_from_warps_to_tiles.md"
X = torch.empty(1024, device="meta")
BLOCK = ("shuffle", "shared store", "barrier", "shared load")


def cell_that_defines(name: str) -> str:
    """The lesson's code cell that defines a function, without what follows the definitions."""
    cells = (cell.source for cell in sources.read_source(LESSON).cells if cell.cell_type == "code")
    return next(source for source in cells if f"def {name}(" in source).partition("\n\n\n")[0]


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The kernels that the lesson compiles and simulates."""
    names = ("sum_kernel", "warp_sum_kernel", "sum_down_kernel", "sum_of_lanes", "hasty_sum_kernel")
    path = tmp_path_factory.mktemp("lesson") / "kernels_of_lesson_01.py"
    header = "import triton\nimport triton.language as tl\n"
    path.write_text("\n\n\n".join([header, *map(cell_that_defines, names)]) + "\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def by_triton(lesson: ModuleType) -> Callable[..., Compiled]:
    def compiled(block_size: int, num_warps: int, target: str = "sm_90") -> Compiled:
        return compile_for(lesson.sum_kernel, X, X, 100, BLOCK_SIZE=block_size, num_warps=num_warps, target=target)

    return compiled


def by_hand(name: str) -> Compiled:
    return compile_cuda(cuda_source(name), name, target="sm_90", threads=SOURCES[name])


def test_a_warp_takes_five_butterflies_by_hand_and_by_triton(by_triton: Callable[..., Compiled]) -> None:
    for found in (by_hand("warp_sum"), by_triton(32, 1)):
        assert found.count("SHFL.BFLY") == found.count("SHFL") == 5
        assert found.kinds().keys().isdisjoint(BLOCK[1:])


def test_a_block_meets_in_shared_memory_by_hand_and_by_triton(by_triton: Callable[..., Compiled]) -> None:
    """How many barriers Triton needs depends on its version."""
    hand, triton = by_hand("block_sum").kinds(), by_triton(128, 4).kinds()
    assert [hand[kind] for kind in BLOCK] == [7, 2, 2, 2]
    assert triton["shuffle"] == 7
    assert all(1 <= triton[kind] <= 2 for kind in BLOCK[1:])


@pytest.mark.parametrize("num_warps", [1, 2, 4, 8, 16, 32])
def test_more_warps_mean_one_exchange_more_each_time_they_double(by_triton: Callable[..., Compiled], num_warps: int) -> None:
    found = by_triton(1024, num_warps)
    assert found.count("SHFL") == 5 + math.log2(num_warps)
    assert found.count("LDG") == 1024 // found.threads
    assert all((found.count(opcode) > 0) == (num_warps > 1) for opcode in ("STS", "BAR", "LDS"))


def test_another_maker_of_gpus_gets_the_same_plan(by_triton: Callable[..., Compiled]) -> None:
    assert by_triton(128, 2, "gfx942").kinds().keys() == by_triton(128, 4).kinds().keys()


def expected(name: str) -> Any:
    return catalog.quiz(name).expected()


def test_the_quiz_on_lanes_agrees_with_the_simulator() -> None:
    def kernel(thread: Thread) -> Iterator[Any]:
        value = 1 << thread.lane
        for distance in (16, 8):
            value += yield thread.shfl_xor(value, distance)
        return value

    found = run_block(kernel, 32).results[3]
    assert [lane for lane in range(32) if found >> lane & 1] == expected("lanes_reached")


def test_the_quiz_on_who_holds_the_sum_agrees_with_the_lesson(lesson: ModuleType) -> None:
    numbers = [2**lane for lane in range(32)]
    runs = [run_block(kernel, 32, numbers) for kernel in (lesson.warp_sum_kernel, lesson.sum_down_kernel)]
    assert [run.results.count(sum(numbers)) for run in runs] == expected("who_holds_the_sum")


def test_the_quiz_on_early_reads_agrees_with_the_races(lesson: ModuleType) -> None:
    run = run_block(lesson.hasty_sum_kernel, 128, list(range(128)))
    assert sorted({race.first.index for race in run.races}) == expected("early_reads")


def test_the_quiz_on_shuffles_agrees_with_the_compiler() -> None:
    assert by_hand("block_sum").count("SHFL") == expected("shuffles_of_a_warp")
