"""Measuring, as far as it can be tested without a GPU: turns, quantiles, what is refused, and the benchmarks' harness.

Times come from samplers made by hand; how they are taken on a GPU is tested in test_bench_on_gpu.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import harness
from benchmarks import matmul as products_benchmark
from benchmarks import softmax as benchmark
from course_lib import bench
from course_lib.bench import COPY, CallFailed, CannotMeasure, ImpossibleFigure, Machine, Timing, compare, host_time, replay
from course_lib.device import Decision
from course_lib.machine.specs import MIB
from course_lib.records import RecordError, load, record
from course_lib.shapes import Product, Rows

H200 = Machine("NVIDIA H200", peak=4800.0, l2=60 * MIB, tflops={"float16": 989.5, "float32": 494.5})
NOTHING = {"ours": lambda: None}


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> dict[object, list[float]]:
    """A machine whose calls take the times that stand here, by call, over and over; 1 ms for others."""
    found: dict[object, list[float]] = {}

    def sampler(call: bench.Call) -> bench.Sampler:
        call()
        endless = itertools.cycle(found.get(call, [1.0]))
        return lambda count: list(itertools.islice(endless, count))

    monkeypatch.setattr(bench, "machine", lambda: H200)
    monkeypatch.setattr(bench, "_SAMPLERS", dict.fromkeys(("cold", "replay", "host"), sampler))
    monkeypatch.setattr(bench, "_copy_of", lambda n_bytes: lambda: None)
    return found


# --- where nothing can be measured ------------------------------------------------------------------------------------

MEASURE: dict[str, Callable[[], object]] = {
    "compare": lambda: compare(NOTHING),
    "replay": lambda: replay(NOTHING["ours"]),
    "host_time": lambda: host_time(NOTHING["ours"]),
    "machine": bench.machine,
    "recorded": lambda: bench.recorded((), ""),
    "the benchmark": lambda: harness.main(benchmark.BENCHMARK, []),
}


@pytest.mark.parametrize("what", MEASURE)
@pytest.mark.parametrize(
    ("asked", "cure"),
    [(None, r'records.record\("softmax", "h200"\).*`course doctor`'), ("1", "Unset it, and start Python anew")],
)
def test_the_interpreter_is_not_measured(what: str, asked: str | None, cure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "prepare", lambda: Decision("interpreter", asked, None, asked is None))
    with pytest.raises(CannotMeasure, match=cure):
        MEASURE[what]()


# --- comparing --------------------------------------------------------------------------------------------------------


def test_calls_take_turns_and_another_begins_each_round() -> None:
    order: list[str] = []

    def sampler(name: str) -> bench.Sampler:
        def sample(count: int) -> list[float]:
            order.append(name)
            return [float(len(order))] * count

        return sample

    times = bench._in_turns({name: sampler(name) for name in "abc"}, rounds=3, samples=2)
    assert "".join(order) == "abc" + "bca" + "cab" + "abc"
    assert times == {"a": [6, 6, 8, 8, 10, 10], "b": [4, 4, 9, 9, 11, 11], "c": [5, 5, 7, 7, 12, 12]}, "round 0 counts too"


def test_quantiles_are_of_all_rounds_together(times: dict[object, list[float]]) -> None:
    times[NOTHING["ours"]] = [float(value) for value in range(1, 12)]
    timing = compare(NOTHING, rounds=11, samples=11)["ours"]
    assert (timing.low, timing.ms, timing.high) == (3, 6, 9)


def test_the_copy_joins_in_where_bytes_are_known(times: dict[object, list[float]]) -> None:
    times[NOTHING["ours"]] = [2.0]
    compared = compare(NOTHING, n_bytes=10**9)
    assert [timing.name for timing in compared.timings] == [COPY, "ours"]
    assert compared["ours"].gbps == 500
    assert compared.share("ours") == 0.5
    own = compare({"ours": NOTHING["ours"], COPY: lambda: None}, n_bytes=10**9)
    assert [timing.name for timing in own.timings] == ["ours", COPY]
    assert compare(NOTHING).share("ours") is None


def test_a_comparison_shows_itself_as_a_table(times: dict[object, list[float]]) -> None:
    times[NOTHING["ours"]] = [0.5]
    compared = compare(NOTHING, n_bytes=10**9)
    assert repr(compared).splitlines() == [
        "NVIDIA H200, on the GPU, cold L2",
        "call    µs  20 % … 80 %  GB/s  of the copy",
        "copy  1000  1000 … 1000  1000         100%",
        "ours   500    500 … 500  2000         200%",
    ]
    assert "<td>ours</td><td>500</td><td>500 … 500</td><td>2000</td><td>200%</td>" in compared._repr_html_()
    assert "&lt;lambda&gt;" in compare({"<lambda>": lambda: None})._repr_html_()


def test_columns_about_bytes_stay_away_where_there_are_none(times: dict[object, list[float]]) -> None:
    assert repr(compare(NOTHING, how="host")).splitlines()[1].split() == ["call", "µs", "20", "%", "…", "80", "%"]


def test_one_timing_says_how_it_was_taken(times: dict[object, list[float]]) -> None:
    times[NOTHING["ours"]] = [0.00197]
    assert repr(replay(NOTHING["ours"])) == "<call, on the GPU, replayed from a CUDA graph: 1.97 µs (1.97 to 1.97)>"
    assert host_time(NOTHING["ours"]).how == "host"


@pytest.mark.parametrize("fields", [{"calls": {}}, {"rounds": 0}, {"samples": 0}], ids=str)
def test_measuring_nothing_is_an_error(fields: dict[str, Any], times: dict[object, list[float]]) -> None:
    with pytest.raises(ValueError, match="nothing to measure"):
        compare(**{"calls": NOTHING, **fields})


def test_a_call_of_no_bytes_is_an_error(times: dict[object, list[float]]) -> None:
    with pytest.raises(ValueError, match="n_bytes is what a call reads and writes, not 0"):
        compare(NOTHING, n_bytes=0)


@pytest.mark.parametrize("how", ["replay", "host"])
def test_bytes_in_the_cache_make_no_bandwidth(how: bench.How, times: dict[object, list[float]]) -> None:
    with pytest.raises(ValueError, match="need not come from memory"):
        compare(NOTHING, n_bytes=10**9, how=how)


class Simulation:
    """A CPU that queues work and a GPU that does it, with clocks in µs. Overwriting takes the GPU 60, queueing the CPU 5."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cpu = self.gpu = 0.0
        simulation = self

        class Event:
            def __init__(self, enable_timing: bool) -> None:
                self.at = 0.0

            def record(self) -> None:
                simulation.queue(0)
                self.at = simulation.gpu

            def query(self) -> bool:
                return self.at <= simulation.cpu

            def elapsed_time(self, end: Event) -> float:
                return (end.at - self.at) / 1000

        class Junk:
            def zero_(self) -> None:
                simulation.queue(60)

        monkeypatch.setattr(bench, "machine", lambda: H200)
        monkeypatch.setattr(torch, "empty", lambda *_, **__: Junk())
        monkeypatch.setattr(torch.cuda, "Event", Event)
        monkeypatch.setattr(torch.cuda, "synchronize", self.synchronize)

    def queue(self, gpu: float, cpu: float = 5) -> None:
        self.cpu += cpu
        self.gpu = max(self.gpu, self.cpu) + gpu

    def synchronize(self) -> None:
        self.cpu = max(self.cpu, self.gpu)


@pytest.mark.parametrize("python", [5, 100, 900], ids="{} µs of Python".format)
def test_a_cold_call_is_not_charged_for_waiting_until_it_is_launched(python: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A launcher of 100 µs once had a kernel of 3 µs read as 90."""
    gpu = Simulation(monkeypatch)
    sample = bench._cold(lambda: gpu.queue(3, cpu=python))
    assert sample(20) == pytest.approx([0.003] * 20)


def test_a_call_that_python_cannot_queue_in_time_still_comes_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Simulation(monkeypatch)
    times = bench._cold(lambda: gpu.queue(3, cpu=50_000))(4)
    assert len(times) == 4
    assert max(times) > 10


# --- what cannot be ---------------------------------------------------------------------------------------------------


def test_a_figure_above_the_peak_is_an_error(times: dict[object, list[float]]) -> None:
    """Unsynchronised timing once gave 34 149 GB/s."""
    times[NOTHING["ours"]] = [0.03]
    with pytest.raises(ImpossibleFigure, match="ours: 33333 GB/s, and NVIDIA H200 moves 4800 at most") as error:
        compare(NOTHING, n_bytes=10**9)
    assert error.value.name == "ours"


def test_no_time_at_all_is_above_the_peak(times: dict[object, list[float]]) -> None:
    times[NOTHING["ours"]] = [0.0]
    with pytest.raises(ImpossibleFigure, match="ours: inf GB/s"):
        compare(NOTHING, n_bytes=10**9)


def test_a_single_quantile_above_the_peak_is_one_too() -> None:
    slow = Timing("ours", "cold", ms=1.0, low=1 / 4.8, high=1.0, n_bytes=10**9)
    bench._refuse_the_impossible(slow, H200)
    with pytest.raises(ImpossibleFigure):
        bench._refuse_the_impossible(Timing("ours", "cold", ms=1.0, low=1 / 4.9, high=1.0, n_bytes=10**9), H200)


def test_what_fits_into_the_cache_is_told_apart(times: dict[object, list[float]]) -> None:
    times[NOTHING["ours"]] = [0.001]
    with pytest.raises(ImpossibleFigure, match=r"The 8.0 MiB fit in its L2 cache of 60 MiB: measure with more"):
        compare(NOTHING, n_bytes=8 * MIB)


def test_a_table_says_where_writes_may_stay_in_the_cache(times: dict[object, list[float]]) -> None:
    note = "The 60.0 MiB fit in the L2 cache of 60 MiB: they are read from memory, but what is written may stay in the cache."
    inside, outside = compare(NOTHING, n_bytes=60 * MIB), compare(NOTHING, n_bytes=60 * MIB + 2)
    assert repr(inside).endswith(f"\n{note}")
    assert note in inside._repr_html_()
    assert "fit in" not in repr(outside) + repr(compare(NOTHING))


def test_a_failing_call_is_named(times: dict[object, list[float]]) -> None:
    def broken() -> None:
        raise KeyError("rows")

    with pytest.raises(CallFailed, match="broken: KeyError: 'rows'") as error:
        compare({**NOTHING, "broken": broken})
    assert error.value.name == "broken"
    assert isinstance(error.value.__cause__, KeyError)


def test_a_call_that_fails_in_a_later_round_is_named() -> None:
    def sample(count: int) -> list[float]:
        raise RuntimeError("out of memory")

    with pytest.raises(CallFailed, match="late: RuntimeError: out of memory"):
        bench._in_turns({"late": sample}, rounds=1, samples=1)


def test_the_peak_is_the_vendors_or_else_that_of_clock_and_bus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triton.testing.get_dram_gbps", lambda: 1234.5)
    assert bench._peak("NVIDIA GeForce RTX 4090") == pytest.approx(1008)
    assert bench._peak("NVIDIA RTX A1000") == 1234.5


# --- the harness of benchmarks, and the softmax's ---------------------------------------------------------------------


@pytest.fixture
def everybody() -> dict[str, harness.Function]:
    """The providers of the benchmark, with torch's softmax in place of ours."""
    ours = benchmark.torch_softmax
    return {"copy": torch.clone, "naive": benchmark.naive_softmax, "torch": ours, "ours": ours}


@pytest.fixture
def small(
    times: dict[object, list[float]], everybody: dict[str, harness.Function], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Path:
    """The benchmark of everybody with two shapes; the folder that it writes into."""
    cases = [
        harness.Case("float32", Rows(4, 256), ("replay", "host", "cold")),
        *(harness.Case(dtype, Rows(8, 781), quick=True) for dtype in harness.DTYPES),
    ]
    little = replace(benchmark.BENCHMARK, cases=cases, functions=lambda case: everybody)
    monkeypatch.setattr(benchmark, "BENCHMARK", little)
    monkeypatch.setattr(harness.records, "DATA", tmp_path)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    return tmp_path


def measure(*arguments: str) -> int:
    return harness.main(benchmark.BENCHMARK, list(arguments))


def test_a_whole_run_is_written(small: Path) -> None:
    assert measure() == 0
    found = load(small / "softmax-h200.json")
    assert found.device == "NVIDIA H200"
    assert found.providers == ("copy", "naive", "torch", "ours")
    assert {(str(one.shape), one.how, one.dtype) for one in found.points} == {
        *(("4 × 256", how, "float32") for how in ("replay", "host", "cold")),
        *(("8 × 781", "cold", dtype) for dtype in ("float32", "float16", "bfloat16")),
    }
    assert found.left_out == ()
    assert "in 5 rounds" in found.method
    assert "{" not in found.method
    assert {"python", "torch", "triton", "numpy"} <= found.versions.keys()


@pytest.mark.parametrize("part", [["--quick"], ["--only", "n=781"], ["--without", "naive"]], ids=" ".join)
def test_a_part_of_a_run_does_not_replace_the_whole(part: list[str], small: Path) -> None:
    assert measure(*part) == 0
    assert list(small.iterdir()) == []
    assert measure(*part, "--only", "n=781", "--out", str(small / "mine.json")) == 0
    assert {one.shape for one in load(small / "mine.json").points} == {Rows(8, 781)}


def wrong(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1) * 1.1


def too_wide(x: torch.Tensor) -> torch.Tensor:
    if x.shape[1] > 700:
        raise ValueError("rows of at most 700")
    return torch.softmax(x, -1)


def in_place(x: torch.Tensor) -> torch.Tensor:
    return x.copy_(torch.softmax(x, -1)).clone()


def nothing_but_nan(x: torch.Tensor) -> torch.Tensor:
    return torch.full_like(x, float("nan"))


@pytest.mark.parametrize(
    ("provider", "reason", "count"),
    [(wrong, "wrong values", 6), (too_wide, "ValueError: rows of at most 700", 3), (in_place, "its input was changed", 6)],
)
def test_who_is_wrong_or_refuses_is_left_out_with_the_reason(
    provider: harness.Function, reason: str, count: int, small: Path, everybody: dict[str, harness.Function]
) -> None:
    everybody["torch"] = provider
    assert measure() == 0
    found = load(small / "softmax-h200.json")
    assert [one.provider for one in found.left_out] == ["torch"] * count
    assert all(one.reason.startswith(reason) for one in found.left_out)
    assert len(found.select(provider="torch")) == 6 - count
    assert len(found.select(provider="ours")) == len(found.select(provider="naive")) == 6


@pytest.mark.parametrize("provider", [wrong, too_wide, nothing_but_nan])
def test_nothing_is_written_if_ours_is_not_right_everywhere(
    provider: harness.Function, small: Path, everybody: dict[str, harness.Function]
) -> None:
    everybody["ours"] = provider
    assert measure() == 1
    assert list(small.iterdir()) == []


def test_who_cannot_be_timed_is_left_out_and_the_others_begin_again(
    small: Path, everybody: dict[str, harness.Function], monkeypatch: pytest.MonkeyPatch
) -> None:
    capturing = []

    def capture(call: bench.Call) -> bench.Sampler:
        capturing.append(True)
        call()
        capturing.pop()
        return lambda count: [1.0] * count

    def not_in_graphs(x: torch.Tensor) -> torch.Tensor:
        if capturing:
            capturing.clear()
            raise RuntimeError("cannot be captured")
        return torch.softmax(x, -1)

    monkeypatch.setattr(bench, "_SAMPLERS", {**bench._SAMPLERS, "replay": capture})
    everybody["torch"] = not_in_graphs
    assert measure() == 0
    found = load(small / "softmax-h200.json")
    assert [(one.provider, one.how, one.reason) for one in found.left_out] == [
        ("torch", "replay", "torch: RuntimeError: cannot be captured")
    ]
    assert {one.provider for one in found.select(how="replay")} == {"copy", "naive", "ours"}
    assert {one.provider for one in found.select(how="host")} == {"copy", "naive", "torch", "ours"}


def test_a_gpu_that_no_longer_answers_ends_the_run(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> None:
        raise RuntimeError("misaligned address")

    monkeypatch.setattr(torch.cuda, "synchronize", gone)
    with pytest.raises(RuntimeError, match="misaligned address"):
        measure()
    assert list(small.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--providers", "triton"], "there is no triton here; there are copy, naive, torch"),
        (["--without", "triton"], "there is no triton here"),
        (["--only", "n=780"], "there is no such shape"),
    ],
    ids=" ".join,
)
def test_what_is_not_there_is_refused(
    arguments: list[str], message: str, small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        measure(*arguments)
    assert message in capsys.readouterr().err


def test_the_softmaxs_providers_include_those_that_are_installed() -> None:
    found = benchmark.functions(benchmark.BENCHMARK.cases[0])
    assert list(found)[:5] == ["copy", "naive", "torch", "torch.compile", "ours"]
    assert harness.installed({"torch": ("torch", "softmax"), "absent": ("no_such_module", "softmax")}) == {
        "torch": torch.softmax
    }


def test_the_shapes_are_those_of_the_article_and_of_long_rows() -> None:
    every = benchmark.BENCHMARK.cases
    assert [case.shape for case in every if "replay" in case.ways] == [Rows(64, 128 * i) for i in range(2, 17)]
    assert {(case.dtype, case.shape.m) for case in every if case.ways == ("cold",)} == {(one, 4096) for one in harness.DTYPES}


def test_the_record_of_the_h200_has_every_shape() -> None:
    found = record("softmax", "h200")
    for provider in ("copy", "naive", "torch", "ours"):
        points = {(one.dtype, one.shape, one.how) for one in found.select(provider=provider)}
        assert points == {(case.dtype, case.shape, how) for case in benchmark.BENCHMARK.cases for how in case.ways}


# --- work that is bound by operations ---------------------------------------------------------------------------------


def products(cases: list[harness.Case]) -> harness.Benchmark:
    """A benchmark of products, with torch's as ours."""

    def inputs(case: harness.Case, generator: torch.Generator) -> harness.Tensors:
        m, n, k = case.shape.m, case.shape.n, case.shape.k
        return tuple(torch.randn(shape, generator=generator).to(harness.DTYPES[case.dtype]) for shape in ((m, k), (k, n)))

    def check(name: str, given: harness.Tensors, results: harness.Tensors) -> None:
        torch.testing.assert_close(results[0], given[0] @ given[1])

    return harness.Benchmark("matmul", "by hand", cases, inputs, lambda case: {"ours": torch.matmul}, check)


def test_products_are_recorded_in_operations(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = [harness.Case("float16", Product(8, 8, 8), ("cold", "replay", "host")), harness.Case("float16", Product(2, 3, 4))]
    assert harness.main(products(cases), []) == 0
    found = load(small / "matmul-h200.json")
    assert found.tflops == {"float16": 989.5}
    assert [one.shape for one in found.select(how="cold")] == [Product(2, 3, 4), Product(8, 8, 8)]
    assert found.point("ours", dtype="float16", side=8).tflops[0] == pytest.approx(2 * 8**3 / 1e-3 / 1e12)
    assert "float16 8 × 8 × 8 cold (TFLOP/s): ours" in capsys.readouterr().out
    assert found.providers == ("ours",)


def test_operations_that_no_unit_can_do_are_refused(times: dict[object, list[float]]) -> None:
    within = compare(NOTHING, flops=989 * 10**9)
    assert within["ours"].tflops == pytest.approx(989)
    assert "TFLOP/s" in repr(within)
    with pytest.raises(ImpossibleFigure, match="ours: 990 TFLOP/s, and NVIDIA H200 does 990 at most"):
        compare(NOTHING, flops=990 * 10**9)
    with pytest.raises(ValueError, match='not with how="host"'):
        compare(NOTHING, flops=8, how="host")


def test_a_dtype_whose_peak_nobody_has_told_is_not_recorded(small: Path) -> None:
    with pytest.raises(RecordError, match="tflops has no peak for bfloat16"):
        harness.main(products([harness.Case("bfloat16", Product(8, 8, 8))]), [])


def test_the_peaks_of_operations_are_the_vendors_by_the_dtype_of_the_inputs() -> None:
    assert bench._tflops("NVIDIA H200") == pytest.approx({"float16": 989.5, "bfloat16": 989.5, "float32": 494.5})
    assert bench._tflops("Tesla T4") == pytest.approx({"float16": 65, "float32": 8.1})
    assert bench._tflops("NVIDIA RTX A1000") == {}


def test_the_benchmark_of_products_refuses_a_wrong_one_and_one_that_was_not_written() -> None:
    case = harness.Case("float16", Product(40, 30, 20))
    given = products_benchmark.inputs(case, torch.Generator().manual_seed(0))
    assert [tuple(one.shape) for one in given] == [(40, 20), (20, 30)]
    right = given[0] @ given[1]
    products_benchmark.check("torch", given, (right,))
    for wrong_one in (right * 1.01, right.roll(1, 0), torch.full_like(right, float("nan"))):
        with pytest.raises(AssertionError):
            products_benchmark.check("ours", given, (wrong_one,))
