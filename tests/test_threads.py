"""Exercises about simulated threads: what their runs are judged by, as plain values and as whole answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from course_lib.checking import threads
from course_lib.checking.blocks import BlockRun, Meeting, Origin, Waiting, noted, read
from course_lib.checking.check import check_file
from course_lib.checking.findings import SourceLine
from course_lib.checking.plain_numbers import Numbers
from course_lib.machine.undefined import UNDEFINED
from course_lib.machine.warp import Stuck, UndefinedValue, run_block, watching

BLOCK = BlockRun(threads=64, warp_size=32, exchanges=10)
LANE = Origin("lane", thread=40, place="lane 24", line=7)
FINE, NAN = Numbers("number", (1.0,)), float("nan")
UNWRITTEN = Origin("unwritten", thread=2, place="partial[2]", line=9)

BUTTERFLY = """
from course_lib.machine.warp import maximum, run_block


def warp_max_kernel(thread, lanes):
    value = lanes[thread.lane] if thread.lane < len(lanes) else float("-inf")
    for distance in (16, 8, 4, 2, 1):
        value = maximum(value, (yield thread.shfl_xor(value, distance)))
    return value


def warp_max(lanes):
    return run_block(warp_max_kernel, 32, lanes).results
"""


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_STATE_DIR", str(tmp_path / "state"))


def line_of(number: int) -> SourceLine:
    return SourceLine("answer.py", number, f"line {number}")


@pytest.mark.parametrize(
    ("blocks", "asked", "results", "kind", "pattern", "words"),
    [
        ((), 64, FINE, "no_block", "", "no block"),
        ((replace(BLOCK, warp_size=64),), 64, FINE, "not_as_asked", "", "64 lanes"),
        ((BLOCK, BLOCK), 64, FINE, "not_as_asked", "", "2 blocks"),
        ((replace(BLOCK, threads=1),), 64, FINE, "not_as_asked", "", "has 1 thread;"),
        ((replace(BLOCK, races=2, race=Meeting("p[1]: …", 4)),), 64, FINE, "shared_race", "", "2 places"),
        ((replace(BLOCK, stuck=(Waiting("shfl", 3, 5, 1),)),), 64, FINE, "stuck", "", "thread 5 waits at `shfl` in line 3"),
        ((replace(BLOCK, undecided=8, origin=LANE),), 64, FINE, "undefined_value", "lane", "compares"),
        (
            (replace(BLOCK, origin=LANE),),
            64,
            Numbers("list", (NAN, NAN, 1.0), (0, 1)),
            "undefined_value",
            "lane",
            "2 of 3 results are",
        ),
        (
            (replace(BLOCK, origin=UNWRITTEN),),
            64,
            Numbers("number", (NAN,), (0,)),
            "undefined_value",
            "unwritten",
            "the result is undefined",
        ),
        ((BLOCK,), 64, Numbers("list", (0.0, NAN), (1,)), "undefined_value", "", "1 of 2 results is undefined, first result 1"),
    ],
)
def test_what_threads_did_is_judged(
    blocks: tuple[BlockRun, ...], asked: int, results: Numbers, kind: str, pattern: str, words: str
) -> None:
    found = threads.judge(blocks, asked, results, line_of)
    assert found is not None
    assert (found.kind, found.pattern) == (kind, pattern)
    assert words in found.message


@pytest.mark.parametrize("block", [BLOCK, replace(BLOCK, origin=LANE)])
def test_undefined_values_that_were_left_aside_are_no_fault(block: BlockRun) -> None:
    assert threads.judge((block,), 64, FINE, line_of) is None
    assert threads.judge((block,) * 3, 0, None, line_of) is None


def test_a_race_goes_before_what_comes_of_it() -> None:
    both = replace(BLOCK, races=1, race=Meeting("p[1]: …", 4), undecided=8, origin=UNWRITTEN)
    found = threads.judge((both,), 64, Numbers("number", (NAN,), (0,)), line_of)
    assert found is not None
    assert (found.kind, found.source) == ("shared_race", line_of(4))


def test_the_line_of_threads_that_are_stuck_is_that_of_the_shuffle() -> None:
    stuck = (Waiting("syncthreads", 12, 0, 32), Waiting("shfl_xor", 20, 32, 16))
    found = threads.judge((replace(BLOCK, stuck=stuck),), 64, FINE, line_of)
    assert found is not None and found.source == line_of(20)


def test_results_that_deaf_threads_know_too_are_told_apart_from_those_that_did_without() -> None:
    assert threads.known_alone((BLOCK,), (3.0, 4.0), {}) is None
    same = threads.known_alone((BLOCK,), (3.0, 4.0), {1: 4.0})
    assert same is not None and (same.kind, same.pattern) == ("computed_outside", "alone")
    idle = threads.known_alone((replace(BLOCK, exchanges=0),), (3.0,), {0: 3.0})
    assert idle is not None and idle.pattern == "no_exchange"
    without = threads.known_alone((BLOCK,), (3.0, 4.0), {0: 1.0, 1: 4.0})
    assert without is not None and (without.kind, without.pattern) == ("undefined_value", "looked_at")


def test_a_run_travels_as_plain_data() -> None:
    def racing(thread):
        cells = thread.shared("cells", 2)
        yield thread.shfl_xor(0, 16)
        cells[0] = thread.index
        return cells[1]

    block = noted(run_block(racing, 20), None)
    assert read(block.plain()) == block
    assert block.threads == 20 and block.race is not None
    assert block.origin == Origin("unwritten", 0, "cells[1]", block.origin.line if block.origin else 0)
    assert racing.__code__.co_firstlineno < block.race.line < block.origin.line


def test_runs_that_came_to_no_end_are_noted_with_the_reason() -> None:
    def stuck(thread):
        yield thread.syncwarp() if thread.lane else thread.shfl_xor(0, 1)

    def branching(thread):
        value = yield thread.shfl_xor(thread.index, 1)
        return 1 if value > 0 else 0

    with watching() as watch:
        with pytest.raises(Stuck):
            run_block(stuck, 4)
        with pytest.raises(UndefinedValue):
            run_block(branching, 3)
    first, second = (noted(*run) for run in watch.runs)
    assert {(one.what, one.first, one.threads) for one in first.stuck} == {("shfl_xor", 0, 1), ("syncwarp", 1, 3)}
    assert second.stuck == () and second.origin is not None and second.origin.place == "lane 3"


def test_deaf_threads_know_only_what_is_their_own() -> None:
    def kernel(thread, values):
        cells = thread.shared("cells", thread.n_threads)
        cells[thread.index] = values[thread.index]
        received = yield thread.shfl_down(values[thread.index], 1)
        yield thread.syncthreads()
        return received, cells[0]

    with watching(deaf=True):
        results = run_block(kernel, 32, range(32)).results
    assert results[0] == (UNDEFINED, 0) and results[31] == (31, UNDEFINED) and results[5] == (UNDEFINED, UNDEFINED)
    assert run_block(kernel, 32, range(32)).results[5] == (6, 0)


def test_a_watch_within_a_deaf_one_lets_nobody_hear() -> None:
    def kernel(thread):
        return (yield thread.shfl_xor(thread.lane, 1))

    with watching(deaf=True) as outer, watching() as inner:
        assert run_block(kernel, 2).results == (UNDEFINED, UNDEFINED)
    assert len(outer.runs) == len(inner.runs) == 1


def judged(tmp_path: Path, text: str):
    path = tmp_path / "answer.py"
    path.write_text(text)
    return check_file("warp_max", path, seed=0)


def test_the_simulator_cannot_be_replaced(tmp_path: Path) -> None:
    patched = BUTTERFLY + "\nfrom course_lib.machine import warp\nwarp.run_block = lambda *arguments: None\n"
    report = judged(tmp_path, patched)
    assert not report.passed and "may not change the libraries that judge it" in repr(report)


def test_a_block_that_is_run_out_of_sight_is_none(tmp_path: Path) -> None:
    hidden = BUTTERFLY.replace("return run_block(", "import contextvars\n    return contextvars.Context().run(run_block, ")
    assert judged(tmp_path, BUTTERFLY).passed
    assert [finding.kind for finding in judged(tmp_path, hidden).findings] == ["no_block"]


def test_a_failed_check_names_the_stages_for_threads(tmp_path: Path) -> None:
    report = judged(tmp_path, BUTTERFLY.replace("16, 8, 4, 2, 1", "16, 8, 4, 2"))
    assert report.stages == ("run", "threads", "values")
    assert judged(tmp_path, BUTTERFLY).stages == ("run", "threads", "values", "exchange")


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        ("    yield thread.lane\n", "nothing else"),
        ("    value = 1.0 + thread.shfl_xor(1.0, 1)\n", "put `yield` before it"),
        ("    thread.shared('cells', 1)[thread.lane] = 0\n", "How many elements"),
    ],
)
def test_mistakes_with_the_simulator_get_advice(tmp_path: Path, kernel: str, words: str) -> None:
    report = judged(tmp_path, BUTTERFLY.replace("    for distance", f"{kernel}    for distance"))
    assert report.hint is not None and words in report.hint


@pytest.mark.parametrize(
    ("right", "slip", "words"),
    [
        ("    return value\n", "", "without `return`"),
        ("    return value\n", "    return lanes_maximum(thread, value)\n", "`yield from`"),
    ],
    ids=["nothing returned", "a generator returned"],
)
def test_what_threads_return_instead_of_a_number_gets_advice(tmp_path: Path, right: str, slip: str, words: str) -> None:
    waiting = "def lanes_maximum(thread, value):\n    return (yield thread.shfl_xor(value, 1))\n\n\ndef warp_max_kernel"
    answer = BUTTERFLY.replace(right, slip).replace("def warp_max_kernel", waiting, 1)
    report = judged(tmp_path, answer)
    assert report.findings[0].kind == "wrong_type"
    assert report.hint is not None and words in report.hint
