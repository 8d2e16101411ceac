"""What lesson 10 says of clocks, and of what was published and recorded: each claim holds in the model and in the data."""

from __future__ import annotations

import ast
import itertools
import re
import statistics
from pathlib import Path

import pytest
import torch

from course_lib import catalog
from course_lib import timings as recorded
from course_lib.machine.launches import timeline
from course_lib.machine.specs import find_gpu
from course_lib.records import record
from course_lib.timings import PUBLISHED, Reading, Series, Timings, timings

LESSON = Path(__file__).parents[1] / "lessons" / "10_measuring.md"
TICK = 1.024
"""Microseconds: what the clock of the published table counts in."""
PEAK = find_gpu("H200").bandwidth / 1e9
SMALL, LARGE = {"m": 64, "n": 2048}, {"m": 4096, "n": 16384}


# --- clocks and queues ------------------------------------------------------------------------------------------------


def test_kernels_begin_after_their_launch_and_after_each_other() -> None:
    line = timeline(3, launch=5, kernel=2)
    assert line.launches == ((0, 5), (5, 10), (10, 15))
    assert line.kernels == ((5, 7), (10, 12), (15, 17))
    assert timeline(3, launch=2, kernel=5).kernels == ((2, 7), (7, 12), (12, 17))


@pytest.mark.parametrize(("wait", "stopped"), [("never", 15), ("once", 17), ("each", 21)])
def test_what_the_clock_shows_depends_on_the_wait(wait: str, stopped: float) -> None:
    assert timeline(3, launch=5, kernel=2, wait=wait).stopped == stopped  # type: ignore[arg-type]


def test_a_graph_is_one_launch_for_all() -> None:
    line = timeline(3, launch=5, kernel=2, graph=True)
    assert line.launches == ((0, 5),)
    assert line.kernels == ((5, 7), (7, 9), (9, 11))
    assert line.by_events == 2


def test_events_around_all_calls_see_the_gaps_between_launches() -> None:
    assert timeline(10, launch=5, kernel=2).by_events == pytest.approx(4.7)
    assert timeline(10, launch=2, kernel=5).by_events == 5


def test_nothing_cannot_be_timed() -> None:
    with pytest.raises(ValueError, match="there must be a call"):
        timeline(0, launch=1, kernel=1)


def test_the_quiz_on_clocks_is_what_the_numbers_in_it_give() -> None:
    launch, kernel, calls = 5, 100, 10
    by_hand = [calls * launch, launch + calls * kernel, calls * (launch + kernel)]
    assert catalog.quiz("clock_readings").expected() == by_hand


# --- what was published -----------------------------------------------------------------------------------------------


def published_times(place: int) -> list[float]:
    return [2 * 64 * n * 4 / row[place] * 1e-3 for n, row in PUBLISHED.items()]


def test_the_published_kernel_takes_as_long_for_any_number_of_columns() -> None:
    ticks = [time / TICK for time in published_times(0)]
    assert all(abs(count - round(count)) < 1e-3 for count in ticks)
    assert {round(count) for count in ticks} == {6, 7, 8}
    assert catalog.quiz("time_factor").expected() == 1


def test_the_published_clock_ticks_for_torch_as_well() -> None:
    assert all(abs(2 * time / TICK - round(2 * time / TICK)) < 1e-3 for time in published_times(1))


# --- what was recorded ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ways() -> Timings:
    return timings("h200")


def us(ways: Timings, way: str, shape: dict[str, int], provider: str = "ours") -> float:
    return 1e3 * ways.reading(provider, way, **shape).ms


def test_who_does_not_wait_is_faster_than_any_memory(ways: Timings) -> None:
    assert ways.reading("ours", "no wait", **LARGE).gbps > 2 * PEAK
    assert all(ways.reading("ours", way, **LARGE).gbps < PEAK for way in ("wait once", "wait each", "cold"))


def test_for_a_long_kernel_it_hardly_matters_how_one_waits(ways: Timings) -> None:
    times = [us(ways, way, LARGE) for way in ("wait once", "wait each", "cold")]
    assert max(times) < 1.25 * min(times)


def test_a_short_kernel_is_not_seen_by_the_host_clock(ways: Timings) -> None:
    launch, once, each, right = (us(ways, way, SMALL) for way in ("no wait", "wait once", "wait each", "cold"))
    assert once == pytest.approx(launch, rel=0.3)
    assert right < once < each


def test_a_warm_cache_flatters_what_fits_into_it(ways: Timings) -> None:
    l2 = find_gpu("H200").l2
    ratios = {
        cold.n: cold.ms / warm.ms
        for warm, cold in zip(ways.over_n("ours", "warm", m=4096), ways.over_n("ours", "cold", m=4096), strict=True)
    }
    assert all(ratio > 1.1 for n, ratio in ratios.items() if 2 * 4096 * n * 4 <= l2)
    assert all(ratio < 1.1 for n, ratio in ratios.items() if 2 * 4096 * n * 4 > 4 * l2)


def test_a_first_call_compiles(ways: Timings) -> None:
    first = ways.all_readings("ours", "first", m=64, n=1999)
    assert first[0] > 100 * statistics.median(first)
    assert first[0] > 10 * max(first[1:])


def test_long_calls_spread_less(ways: Timings) -> None:
    def spread(m: int, n: int) -> float:
        low, *_, high = statistics.quantiles(ways.all_readings("ours", "cold", m=m, n=n), n=5)
        return high / low - 1

    assert spread(4096, 4096) < spread(64, 2048)


def test_an_empty_kernel_takes_most_of_what_64_rows_take(ways: Timings) -> None:
    for way in ("no wait", "cold"):
        assert us(ways, way, SMALL, "empty") > 0.4 * us(ways, way, SMALL, "ours")


def test_64_rows_are_launches_and_no_memory() -> None:
    points = record("softmax", "h200").select(m=64, dtype="float32", provider="ours")
    cold = [point.ms for point in points if point.how == "cold"]
    assert max(cold) < 1.25 * min(cold), "eight times the columns, and hardly more time"
    assert all(point.gbps[0] < 0.1 * PEAK for point in points if point.how == "cold")


def test_the_naive_softmax_treats_memory_well_and_is_four_times_as_slow() -> None:
    naive = record("softmax", "h200").point("naive", m=4096, n=4096)
    assert naive.gbps[0] < 0.3 * PEAK < 4 * naive.gbps[0] < PEAK


def test_the_persistent_form_wins_by_a_little_and_loses_where_16_does_not_divide() -> None:
    softmaxes = record("softmax", "h200")
    points = softmaxes.select(provider="persistent", m=4096, dtype="float32", how="cold")
    speeds = {point.shape.n: softmaxes.point("ours", m=4096, n=point.shape.n).ms / point.ms for point in points}
    assert max(speeds.values()) < 1.1
    assert max(speed for n, speed in speeds.items() if n % 16) < min(
        speed for n, speed in speeds.items() if n >= 512 and not n % 16
    )
    assert max(point.shape.n for point in points) < 2**16


def test_two_runs_differ_by_some_per_cent(ways: Timings) -> None:
    softmaxes = record("softmax", "h200")
    pairs = [
        (reading.gbps, softmaxes.point("copy", m=4096, n=reading.n).gbps[0])
        for reading in ways.over_n("copy", "cold", m=4096)
        if reading.n >= 1024
    ]
    differences = [abs(one / other - 1) for one, other in pairs]
    assert 0.002 < max(differences) < 0.3


# --- the benchmarks with a fault ---------------------------------------------------------------------------------------


def benchmarks() -> list[str]:
    text = LESSON.read_text(encoding="utf-8").partition("## Find the fault")[2]
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_each_benchmark_with_a_fault_is_python_and_has_its_quiz() -> None:
    assert len([ast.parse(code) for code in benchmarks()]) == 3
    assert [catalog.quiz(f"benchmark_{number}").expected() for number in (1, 2, 3)] == ["waits", "cache", "bytes"]


def test_the_faults_are_in_the_benchmarks_that_are_said_to_have_them() -> None:
    first, second, third = benchmarks()
    loop = first.partition("for _ in range(100):")[2]
    assert loop.index("perf_counter") < loop.index("softmax(x)") < loop.rindex("torch.cuda.synchronize()")
    m, n = map(int, re.findall(r"randn\((\d+), (\d+)", second)[0])
    assert 2 * m * n * 4 < find_gpu("H200").l2
    assert "flush" not in second
    assert torch.bfloat16.itemsize != 4
    assert "torch.bfloat16" in third
    assert "2 * 4 * x.numel()" in third


# --- the form of the record -------------------------------------------------------------------------------------------


def test_what_is_written_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "DATA", tmp_path)
    what = Timings(
        "NVIDIA H200",
        "2026-11-30",
        {"torch": "2.11.0"},
        {"cold": "around each call — with a cold L2"},
        (Reading("ours", 64, 512, "cold", 0.004, 0.003, 0.005), Reading("ours", 64, 256, "cold", 0.002, 0.001, 0.003)),
        (Series("ours", 64, 256, "cold", [0.002, 0.003]),),
    )
    recorded.save(what, tmp_path / "timings_h200.json")
    again = timings("h200")
    assert again == what
    assert again.reading("ours", "cold", m=64, n=256).gbps == pytest.approx(2 * 64 * 256 * 4 / 2e-6 / 1e9)
    assert [one.n for one in again.over_n("ours", "cold", m=64)] == [256, 512]
    assert again.all_readings("ours", "cold", m=64, n=256) == [0.002, 0.003]


def test_what_was_not_recorded_is_not_there(ways: Timings) -> None:
    with pytest.raises(LookupError, match="nothing was recorded of ours, 'cold', 3 × 5"):
        ways.reading("ours", "cold", m=3, n=5)


def test_every_way_is_explained_and_every_reading_in_order(ways: Timings) -> None:
    assert {one.way for one in itertools.chain(ways.readings, ways.series)} <= set(ways.ways)
    assert all(0 <= one.low <= one.ms <= one.high for one in ways.readings)
