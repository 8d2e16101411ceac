"""Measuring calls on a GPU as an honest engineer would: with a cold cache, in turns, beside the device's own copy.

    compare({"ours": lambda: softmax(x), "torch": lambda: torch.softmax(x, -1)}, n_bytes=2 * x.numel() * x.element_size())

times each call on the GPU, again and again, and shows a table: median and quantiles, effective bandwidth, and the share of
what a plain copy of as many bytes reaches in the same run. `replay` times a call without Python, from a CUDA graph, and
`host_time` the Python alone. Times are in milliseconds, bandwidths in GB/s (10⁹ bytes a second), operations in TFLOP/s.

A figure above what the device's memory can move, or its units compute, is an error, not a result. So is measuring in Triton's
interpreter, whose times say nothing about a GPU; `records.py` has what was measured on one.

Not here: whether a call computes the right thing. Check that first.
"""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from course_lib.device import device, prepare, switched_on
from course_lib.errors import PlainError
from course_lib.machine.specs import MIB, find_gpu
from course_lib.records import WAYS, How, LeftOut, Point, Record, bandwidth, tflops
from course_lib.shapes import Shape

Call = Callable[[], object]
"""What is timed: a function without arguments, such as `lambda: softmax(x)`. Its inputs are made beforehand."""
Sampler = Callable[[int], list[float]]
"""Takes so many samples of one call, and returns as many times in milliseconds."""

COPY = "copy"
QUANTILES = (0.2, 0.5, 0.8)
REPLAYED = 500
"""Calls in a CUDA graph. Starting a graph takes the GPU about as long as some kernels; spread over so many, it is nothing."""
LAUNCHED = 50
"""Calls in a row while the host's time is taken. The driver queues about a thousand launches before it makes Python wait."""

MOST_AHEAD = 32
"""How many times the cache is overwritten for each call before the first, so that all are queued when the GPU comes to them."""


class CannotMeasure(PlainError, RuntimeError):
    """There is no GPU here, or kernels are interpreted."""


class CallFailed(PlainError, RuntimeError):
    """One of the calls raised an error, which is this one's cause; `name` says which."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name


class ImpossibleFigure(CallFailed):
    """More than the device's memory or units can do: something is wrong with the measurement, or with `n_bytes` or `flops`."""


@dataclass(frozen=True)
class Machine:
    """The GPU that is measured: the peak of its memory's bandwidth in GB/s, and the size of its L2 cache in bytes.

    `tflops` is what it can compute at most with inputs of a dtype; empty where nobody has told.
    """

    name: str
    peak: float
    l2: int
    tflops: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Timing:
    """How long one call takes: median, 20 % and 80 % quantile, in milliseconds. `n_bytes`: what it moves, if that was said;
    `flops`: what it computes, likewise."""

    name: str
    how: How
    ms: float
    low: float
    high: float
    n_bytes: int | None = None
    flops: int | None = None

    @property
    def gbps(self) -> float | None:
        """Effective bandwidth at the median, in GB/s."""
        return None if self.n_bytes is None else bandwidth(self.n_bytes, self.ms)

    @property
    def tflops(self) -> float | None:
        """Operations at the median, in TFLOP/s."""
        return None if self.flops is None else tflops(self.flops, self.ms)

    def __repr__(self) -> str:
        rate = "" if self.gbps is None else f", {self.gbps:.0f} GB/s"
        rate += "" if self.tflops is None else f", {self.tflops:.0f} TFLOP/s"
        spread = f"{_us(self.low)} to {_us(self.high)}"
        return f"<{self.name}, {WAYS[self.how]}: {_us(self.ms)} µs ({spread}){rate}>"


@dataclass(frozen=True)
class Comparison:
    """Calls that were timed in turns, in one run on one machine. Shows itself as a table."""

    machine: Machine
    how: How
    timings: tuple[Timing, ...]

    def __getitem__(self, name: str) -> Timing:
        """The timing of one call. Raises `KeyError` if there was no such call."""
        return {timing.name: timing for timing in self.timings}[name]

    def share(self, name: str) -> float | None:
        """A call's speed as a share of the copy's; None if no copy was timed."""
        copies = [timing for timing in self.timings if timing.name == COPY]
        return copies[0].ms / self[name].ms if copies else None

    def points(self, dtype: str, shape: Shape) -> tuple[Point, ...]:
        """The timings as points of a record, for calls that did work of this shape."""
        return tuple(
            Point(one.name, dtype, shape, self.how, *(float(f"{ms:.5g}") for ms in (one.ms, one.low, one.high)))
            for one in self.timings
        )

    def __repr__(self) -> str:
        rows = self._rows()
        widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([self._title(), *lines, *self._note()])

    def _repr_html_(self) -> str:
        head, *body = self._rows()
        cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
        note = "".join(f"<small>{escape(line)}</small>" for line in self._note())
        return f"<table><caption>{escape(self._title())}</caption><tr>{cells}</tr>{rows}</table>{note}"

    def _title(self) -> str:
        return f"{self.machine.name}, {WAYS[self.how]}"

    def _note(self) -> list[str]:
        """What is to be known where the bytes fit into the cache."""
        n_bytes = self.timings[0].n_bytes
        if n_bytes is None or n_bytes > self.machine.l2:
            return []
        sizes = f"The {n_bytes / MIB:.1f} MiB fit in the L2 cache of {self.machine.l2 / MIB:.0f} MiB"
        return [f"{sizes}: they are read from memory, but what is written may stay in the cache."]

    def _rows(self) -> list[list[str]]:
        """The table's cells, its head first; columns about bytes and operations only if those are known."""
        rows = [["call", "µs", "20 % … 80 %", "TFLOP/s", "GB/s", "of the copy"]]
        for timing in self.timings:
            share = self.share(timing.name)
            rows.append(
                [
                    timing.name,
                    _us(timing.ms),
                    f"{_us(timing.low)} … {_us(timing.high)}",
                    "" if timing.tflops is None else f"{timing.tflops:.0f}",
                    "" if timing.gbps is None else f"{timing.gbps:.0f}",
                    "" if share is None else f"{share:.0%}",
                ]
            )
        filled = [number for number in range(len(rows[0])) if any(row[number] for row in rows[1:])]
        return [[row[number] for number in filled] for row in rows]


def _us(ms: float) -> str:
    """Milliseconds as microseconds, in three digits.

    >>> _us(0.00197), _us(0.0219), _us(1.0243)
    ('1.97', '21.9', '1024')
    """
    us = ms * 1000
    return f"{us:.2f}" if us < 10 else f"{us:.1f}" if us < 100 else f"{us:.0f}"


def compare(
    calls: Mapping[str, Call],
    n_bytes: int | None = None,
    *,
    flops: int | None = None,
    how: How = "cold",
    rounds: int = 5,
    samples: int = 20,
) -> Comparison:
    """Time calls in turns, so that what changes with time (clocks, heat) meets all of them alike.

    In each of `rounds` rounds every call is sampled `samples` times in a row; each round begins with another call, and one
    round that warms up is thrown away. With `n_bytes`, the bytes that each call must move at least, there are bandwidths, and
    a copy of as many bytes (half of them read, half written) joins in as "copy", unless `calls` has its own. With `flops`,
    the operations that each call must do at least, there are TFLOP/s.

    Raises `CannotMeasure` without a GPU, `CallFailed` if a call does, `ImpossibleFigure` for a bandwidth above the device's
    peak or for more TFLOP/s than the fastest of its units do, and `ValueError` for nothing to measure, for `n_bytes` where
    calls find their data in the L2 cache, and for `flops` where no work is timed.
    """
    here = machine()
    if not calls or rounds < 1 or samples < 1:
        raise ValueError(f"there is nothing to measure: {len(calls)} calls, {rounds} rounds, {samples} samples")
    if n_bytes is not None and n_bytes < 2:
        raise ValueError(f"n_bytes is what a call reads and writes, not {n_bytes}; leave it out where it is unknown")
    if n_bytes is not None and how != "cold":
        raise ValueError(f'n_bytes goes with how="cold" only: with "{how}" the data need not come from memory')
    if flops is not None and (flops < 1 or how == "host"):
        raise ValueError(f'flops is what a call computes, not {flops}, and goes with times on the GPU, not with how="{how}"')
    timed = {COPY: _copy_of(n_bytes), **calls} if n_bytes and COPY not in calls else dict(calls)
    samplers = {}
    for name, call in timed.items():
        with _naming(name):
            samplers[name] = _SAMPLERS[how](call)
    times = _in_turns(samplers, rounds, samples)
    timings = tuple(_timing(name, how, times[name], n_bytes, None if name == COPY else flops) for name in timed)
    for timing in timings:
        _refuse_the_impossible(timing, here)
    return Comparison(here, how, timings)


def replay(call: Call, *, rounds: int = 5, samples: int = 10) -> Timing:
    """How long a call's work takes on the GPU without Python: many calls are recorded into a CUDA graph, which is replayed.

    Its inputs may stay in the L2 cache. A call must be one that can be captured: it may not wait for the GPU, and it works on
    torch's current stream. Raises as `compare` does.
    """
    return compare({"call": call}, how="replay", rounds=rounds, samples=samples)["call"]


def host_time(call: Call, *, rounds: int = 5, samples: int = 10) -> Timing:
    """How long Python is busy with a call: until it returns, while the GPU works on. Raises as `compare` does.

    For calls whose work on the GPU is short; behind long ones the queue of launches fills, and Python waits.
    """
    return compare({"call": call}, how="host", rounds=rounds, samples=samples)["call"]


def recorded(points: Iterable[Point], method: str, left_out: Iterable[LeftOut] = (), packages: Sequence[str] = ()) -> Record:
    """What was measured on this machine, as a record of today, which figures draw and `records.save` writes.

    `packages` names whose versions belong to it besides those of Python, torch, Triton, NumPy, CUDA and the driver.
    """
    import torch

    here = machine()
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    for package in ("triton", "numpy", *packages):
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    others = {"cuda": torch.version.cuda, "hip": torch.version.hip, "driver": device().versions.get("driver")}
    versions |= {name: number for name, number in others.items() if number}
    today = datetime.now(UTC).date().isoformat()
    measured = tuple(points)
    rates = {point.dtype: here.tflops[point.dtype] for point in measured if point.shape.flops and point.dtype in here.tflops}
    return Record(here.name, here.peak, today, versions, method, measured, tuple(left_out), rates)


def machine() -> Machine:
    """The GPU that would be measured. Raises `CannotMeasure`, with what to do, where there is none."""
    decision = prepare()
    if decision.mode == "interpreter":
        if switched_on(decision.asked):
            raise CannotMeasure(
                "TRITON_INTERPRET is set, so kernels run in Triton's interpreter, and its times say nothing about a GPU. "
                "Unset it, and start Python anew."
            )
        raise CannotMeasure(
            "There is no GPU in use here, and the interpreter's times say nothing about one. What was measured on an H200: "
            'course_lib.records.record("softmax", "h200"). Why there is none: `course doctor`.'
        )
    import torch

    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    return Machine(properties.name, _peak(properties.name), properties.L2_cache_size, _tflops(properties.name))


def _peak(name: str) -> float:
    """GB/s: what the vendor says, or for a GPU that we have no facts about, its memory's clock times the width of its bus."""
    try:
        return find_gpu(name).bandwidth * 1e-9
    except ValueError:
        from triton.testing import get_dram_gbps

        return get_dram_gbps()


def _tflops(name: str) -> dict[str, float]:
    """By dtype, the TFLOP/s that the vendor says, of fp32 with the units that round it to tf32; empty for an unknown GPU."""
    try:
        flops = find_gpu(name).flops
    except ValueError:
        return {}
    rates = {"float16": flops.get("fp16"), "bfloat16": flops.get("bf16"), "float32": flops.get("tf32", flops["fp32"])}
    return {dtype: rate * 1e-12 for dtype, rate in rates.items() if rate is not None}


def _refuse_the_impossible(timing: Timing, here: Machine) -> None:
    """Raise `ImpossibleFigure` if the faster of a call's times would need a faster memory, or faster units, than there are."""
    if timing.flops is not None and here.tflops and tflops(timing.flops, timing.low) > (most := max(here.tflops.values())):
        message = f"{tflops(timing.flops, timing.low):.0f} TFLOP/s, and {here.name} does {most:.0f} at most. "
        raise ImpossibleFigure(timing.name, f"{message}Does the call do flops, and does it work on torch's current stream?")
    if timing.n_bytes is None or bandwidth(timing.n_bytes, timing.low) <= here.peak:
        return
    message = f"{bandwidth(timing.n_bytes, timing.low):.0f} GB/s, and {here.name} moves {here.peak:.0f} at most. "
    if timing.n_bytes <= here.l2:
        message += f"The {timing.n_bytes / MIB:.1f} MiB fit in its L2 cache of {here.l2 / MIB:.0f} MiB: measure with more. "
    raise ImpossibleFigure(timing.name, f"{message}Does the call move n_bytes, and does it work on torch's current stream?")


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Whatever goes wrong inside becomes a `CallFailed` of this name."""
    try:
        yield
    except Exception as error:
        raise CallFailed(name, f"{type(error).__name__}: {error}") from error


def _in_turns(samplers: Mapping[str, Sampler], rounds: int, samples: int) -> dict[str, list[float]]:
    """All times of each sampler, in milliseconds. Round 0 only warms up."""
    names = list(samplers)
    times: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds + 1):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            with _naming(name):
                taken = samplers[name](samples)
            if turn:
                times[name] += taken
    return times


def _timing(name: str, how: How, times: list[float], n_bytes: int | None, flops: int | None) -> Timing:
    low, median, high = (float(value) for value in np.quantile(times, QUANTILES))
    return Timing(name, how, median, low, high, n_bytes, flops)


def _copy_of(n_bytes: int) -> Call:
    """A copy on the device that reads half of these bytes and writes the other half."""
    import torch

    generator = torch.Generator("cuda")
    return torch.randint(256, (n_bytes // 2,), generator=generator, dtype=torch.uint8, device="cuda").clone


# --- the three ways to take a time ------------------------------------------------------------------------------------


def _cold(call: Call) -> Sampler:
    """Between two events on the GPU, each call after the L2 cache was overwritten, as `triton.testing.do_bench` does it.

    All calls are queued while the GPU still has other work, so that none is charged for waiting until Python has launched it.
    That work is doubled until it is enough, up to `MOST_AHEAD` overwritings a call.
    """
    import torch

    call()
    junk_bytes = max(256 * MIB, 4 * machine().l2)
    ahead = 1

    def sample(count: int) -> list[float]:
        nonlocal ahead
        while True:
            junk = torch.empty(junk_bytes, dtype=torch.int8, device="cuda")
            idle, *events = (torch.cuda.Event(enable_timing=True) for _ in range(1 + 2 * count))
            for _ in range(ahead * count):
                junk.zero_()
            idle.record()
            for begin, end in zip(events[::2], events[1::2], strict=True):
                junk.zero_()
                begin.record()
                call()
                end.record()
            too_late = idle.query()
            torch.cuda.synchronize()
            if not too_late or ahead >= MOST_AHEAD:
                return [begin.elapsed_time(end) for begin, end in zip(events[::2], events[1::2], strict=True)]
            ahead *= 2

    return sample


def _replayed(call: Call) -> Sampler:
    """A graph of `REPLAYED` calls, timed while it runs behind another run of itself: starting it is then not counted."""
    import torch

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
        side.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.stream(side), torch.cuda.graph(graph, stream=side):
            for _ in range(REPLAYED):
                result = call()
    except Exception:
        _forget_failed_capture()
        raise
    torch.cuda.synchronize()
    if isinstance(result, torch.Tensor) and result.is_floating_point():
        result.fill_(float("nan"))
        graph.replay()
        if result.isnan().all():
            raise RuntimeError("a replay of the graph wrote nothing: the call works on another stream than torch's current one")

    def sample(count: int) -> list[float]:
        times = []
        for _ in range(count):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            graph.replay()
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) / REPLAYED)
        return times

    return sample


def _forget_failed_capture() -> None:
    """After a capture that failed, torch's random numbers would wait for its end for ever; the end of an empty one will do."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "The CUDA Graph is empty"
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            pass


def _launched(call: Call) -> Sampler:
    """The CPU's clock around `LAUNCHED` calls in a row, which begin with an idle GPU."""
    import torch

    call()

    def sample(count: int) -> list[float]:
        times = []
        for _ in range(count):
            torch.cuda.synchronize()
            began = time.perf_counter_ns()
            for _ in range(LAUNCHED):
                call()
            times.append((time.perf_counter_ns() - began) / LAUNCHED * 1e-6)
        torch.cuda.synchronize()
        return times

    return sample


_SAMPLERS: Mapping[How, Callable[[Call], Sampler]] = {"cold": _cold, "replay": _replayed, "host": _launched}
