"""What the benchmarks of finished kernels share: checking each provider, timing all in turns in one run, writing the record.

A script says what is measured in a `Benchmark`, and ends with `sys.exit(main(BENCHMARK))`. Each result is checked before
anything is timed. What a provider cannot do is left out, and listed with its reason. The file is written at the end, and only
if ours was right and timed everywhere. `main` has the options, which `--help` shows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from course_lib import bench, records
from course_lib.device import device
from course_lib.records import How, LeftOut, Point
from course_lib.shapes import Shape

Tensors = tuple[torch.Tensor, ...]
Function = Callable[..., Any]
"""Takes the inputs; returns a tensor, or several."""
Check = Callable[[str, Tensors, Tensors], None]
"""Provider, inputs and results; raises `AssertionError` if the results are wrong."""

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
SAMPLES: Mapping[How, int] = {"cold": 20, "replay": 5, "host": 10}
"""Samples a round. A sample is one call, or the mean of `bench.REPLAYED` or `bench.LAUNCHED` calls."""

TIMED = """\
Every result was checked before it was timed. All calls of a shape were timed in turns, in {rounds} rounds after one to warm up;
given are the median, and the 20 % and 80 % quantiles. "cold": between two events on the GPU, {cold} times a round, each after
the L2 cache was overwritten, with the launches queued in advance. "replay": a CUDA graph of {replayed} calls, timed {replay}
times a round behind another run of itself, per call; the data stays in L2. "host": the CPU's clock around {launched} calls in
a row, {host} times a round, per call, beginning with an idle GPU. Every call allocates its result."""


@dataclass(frozen=True)
class Case:
    """One kind of input, and the ways in which calls on it are timed. `quick`: whether a quick run has it, too."""

    dtype: str
    shape: Shape
    ways: tuple[How, ...] = ("cold",)
    quick: bool = False

    def __str__(self) -> str:
        return f"{self.dtype} {self.shape}"


@dataclass(frozen=True)
class Benchmark:
    """What is measured of a subject, beside whom. Its record is called after `subject`.

    `method` says in words what the inputs are, how results are checked, and who the providers are. `inputs` makes a case's
    tensors, on the generator's device. `functions` are the providers for a case, made anew for each, in the order of the file.
    `packages` names whose versions belong to the record.
    """

    subject: str
    method: str
    cases: Sequence[Case]
    inputs: Callable[[Case, torch.Generator], Tensors]
    functions: Callable[[Case], Mapping[str, Function]]
    check: Check
    packages: tuple[str, ...] = ()


def installed(peers: Mapping[str, tuple[str, str]]) -> dict[str, Function]:
    """The functions of peers, each given as module and name, that can be imported here; of the others, why they are absent."""
    found = {}
    for name, (module, function) in peers.items():
        try:
            found[name] = getattr(import_module(module), function)
        except Exception as error:  # a package may also fail while it is imported; then it cannot be measured
            print(f"{name} is absent: {type(error).__name__}: {error}")
    return found


@dataclass
class Run:
    """What has been measured so far, and how."""

    benchmark: Benchmark
    rounds: int
    wanted: Callable[[str], bool] = lambda _: True
    points: list[Point] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def measure(self, case: Case) -> None:
        """Check and time every provider on one case."""
        generator = torch.Generator(device().torch_device).manual_seed(0)
        inputs = self.benchmark.inputs(case, generator)
        calls = {}
        for name, function in self.benchmark.functions(case).items():
            if not self.wanted(name):
                continue
            calls[name] = bound(function, inputs)
            if why := refusal(name, calls[name], inputs, self.benchmark.check):
                del calls[name]
                for how in case.ways:
                    self.leave_out(name, case, how, why)
        for how in case.ways:
            self.take_times(case, how, dict(calls))

    def leave_out(self, name: str, case: Case, how: How, why: str) -> None:
        """Note what is not measured. Ends the program if the GPU itself no longer answers, as after a stray store."""
        self.left_out.append(LeftOut(name, case.dtype, case.shape, how, why[:300]))
        print(f"  left out: {name} ({how}): {why[:150]}")
        torch.cuda.synchronize()

    def take_times(self, case: Case, how: How, calls: dict[str, bench.Call]) -> None:
        """Time calls in turns; one that cannot be timed is left out, and the others begin again."""
        flops = case.shape.flops if how != "host" and case.shape.flops else None
        n_bytes = case.shape.elements * records.ITEMSIZE[case.dtype] if how == "cold" and not flops else None
        while calls:
            try:
                compared = bench.compare(calls, n_bytes, flops=flops, how=how, rounds=self.rounds, samples=SAMPLES[how])
            except bench.CallFailed as error:
                if error.name not in calls:
                    raise
                del calls[error.name]
                self.leave_out(error.name, case, how, str(error))
                continue
            self.points += [one for one in compared.points(case.dtype, case.shape) if one.provider in calls]
            shown = "  ".join(f"{one.name} {rate(one)}" for one in compared.timings if one.name in calls)
            unit = "TFLOP/s" if flops else "GB/s" if n_bytes else "µs"
            print(f"{time.monotonic() - self.began:4.0f} s  {case} {how} ({unit}): {shown}", flush=True)
            return


def rate(timing: bench.Timing) -> str:
    """What a run shows of a timing: operations or bytes a second, or else microseconds."""
    known = timing.tflops or timing.gbps
    return f"{known:.0f}" if known else f"{timing.ms * 1000:.2f}"


def bound(function: Function, inputs: Tensors) -> Callable[[], Tensors]:
    """A call without arguments, whose results are always a tuple."""

    def call() -> Tensors:
        results = function(*inputs)
        return results if isinstance(results, tuple) else (results,)

    return call


def refusal(name: str, call: Callable[[], Tensors], inputs: Tensors, check: Check) -> str | None:
    """Why a provider is not to be timed: what it raised, or how its results are wrong; None if they are right."""
    before = tuple(one.clone() for one in inputs)
    try:
        for result in call():
            result.fill_(float("nan"))  # the next results will lie in this memory, and must not be right because these were
        for one, original in zip(inputs, before, strict=True):
            if not torch.equal(one, original):
                return "its input was changed"
        results = call()
        torch.cuda.synchronize()
    except Exception as error:  # whatever it is: the others are still to be measured
        return f"{type(error).__name__}: {error}"
    try:
        check(name, before, results)
    except AssertionError as error:
        return f"wrong values: {' '.join(str(error).split())}"
    return None


def chosen(cases: Iterable[Case], quick: bool, only: Sequence[str] | None) -> list[Case]:
    """The cases that are asked for: all, the quick ones, or those whose shape has one of the given names with its value."""
    if not only:
        return [case for case in cases if case.quick or not quick]
    asked = [one.partition("=")[::2] for one in only]
    return [case for case in cases if any(str(getattr(case.shape, name, None)) == value for name, value in asked)]


def main(benchmark: Benchmark, arguments: list[str] | None = None) -> int:
    """Measure, show and write; returns 1 if ours was wrong or failed anywhere, and 0 otherwise."""
    parser = argparse.ArgumentParser(description=f"Measure {benchmark.subject} on this GPU.")
    parser.add_argument("--quick", action="store_true", help="some sizes and two rounds")
    parser.add_argument("--only", nargs="+", metavar="NAME=SIZE", help="shapes that have one of these, such as n=1024")
    parser.add_argument("--providers", nargs="+", metavar="NAME", help="these only, such as ours, torch")
    parser.add_argument("--without", nargs="+", metavar="NAME", default=[], help="all but these, such as torch.compile")
    parser.add_argument("--rounds", type=int, help="how often each call has its turn (5)")
    usual = f"course_lib/data/{benchmark.subject}-<gpu>.json"
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"where to write ({usual})")
    options = parser.parse_args(arguments)
    here = bench.machine()
    cases = chosen(benchmark.cases, options.quick, options.only)
    there = list(benchmark.functions(benchmark.cases[0]))
    if unknown := sorted({*(options.providers or ()), *options.without} - {*there}):
        parser.error(f"there is no {', '.join(unknown)} here; there are {', '.join(there)}")
    if not cases:
        parser.error(f"there is no such shape: {', '.join(options.only or ['--quick'])}")
    rounds = options.rounds or (2 if options.quick else 5)
    run = Run(benchmark, rounds, lambda name: name in (options.providers or there) and name not in options.without)
    print(f"{here.name}: {', '.join(filter(run.wanted, there))}; {rounds} rounds", flush=True)
    for case in cases:
        run.measure(case)
    print(f"{len(run.points)} points in {time.monotonic() - run.began:.0f} s, {len(run.left_out)} left out")
    if failures := [one for one in run.left_out if one.provider == "ours"]:
        print(f"Ours was wrong or failed at {len(failures)} points, so nothing is written.", *failures, sep="\n")
        return 1
    counts = {"rounds": rounds, "replayed": bench.REPLAYED, "launched": bench.LAUNCHED}
    timed = TIMED.format(**counts, **{str(how): count for how, count in SAMPLES.items()})
    method = " ".join(f"{timed} {benchmark.method}".split())
    record = bench.recorded(run.points, method, run.left_out, benchmark.packages)
    part = options.quick or options.only or options.providers or options.without
    out = options.out or (None if part else records.DATA / f"{benchmark.subject}-{records.slug(here.name)}.json")
    if out is None:
        print("This was a part of the whole, so nothing is written without --out FILE.")
    else:
        records.save(record, out)
        print(f"Written to {out}.")
    return 0
