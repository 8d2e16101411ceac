"""On a GPU machine: measure the row softmax, ours and what one would take instead, and record it for those without a GPU.

    python -m benchmarks.softmax                      everything, into course_lib/data/softmax-<gpu>.json
    python -m benchmarks.softmax --quick              some sizes, two rounds: shown, and written only with --out FILE
    python -m benchmarks.softmax --only 1024 65536    these widths only (likewise)
    python -m benchmarks.softmax --providers ours torch liger --rounds 3 --out mine.json

Each result is compared with torch's in fp64 before anything is timed. What a provider cannot do is left out, and listed with
its reason. The file is written at the end, and only if ours was right and timed everywhere.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import torch

from course_lib import bench, records
from course_lib.device import device
from course_lib.kernels.softmax import softmax
from course_lib.records import How, LeftOut, Point

Softmax = Callable[[torch.Tensor], torch.Tensor]

SMALL = [(64, n) for n in range(256, 2049, 128)]
"""The shapes of the article's table."""
WIDTHS = (128, 256, 512, 781, 1000, 1024, 2048, 4096, 5000, 8192, 12345, 16384, 32768, 50257, 65536, 131072)
LARGE = [(4096, n) for n in WIDTHS]
QUICK = (512, 781, 2048, 65536)
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
SAMPLES: Mapping[How, int] = {"cold": 20, "replay": 5, "host": 10}
"""Samples a round. A sample is one call, or the mean of `bench.REPLAYED` or `bench.LAUNCHED` calls."""

TOLERANCE = {"float32": 2e-5, "float16": 4e-3, "bfloat16": 2e-2}
ROUNDING = 5
"""How much more "naive" may be off: it rounds after each of its five operations."""

PACKAGES = ("liger-kernel", "quack-kernels")

METHOD = """\
Rows of random normal numbers. Every result was compared with torch.softmax in fp64 before it was timed. All calls of a
shape were timed in turns, in {rounds} rounds after one to warm up; given are the median, and the 20 % and 80 % quantiles.
"cold": between two events on the GPU, {cold} times a round, each after the L2 cache was overwritten, with the launches
queued in advance. "replay": a CUDA graph of {replayed} calls, timed {replay} times a round behind another run of itself,
per call; the data stays in L2. "host": the CPU's clock around {launched} calls in a row, {host} times a round, per call,
beginning with an idle GPU. Every call allocates its result. copy is x.clone(); naive is max, subtraction, exp, sum and
division by torch; torch is torch.softmax; torch.compile is that function compiled for the one shape (dynamic=False); ours is
course_lib.kernels.softmax.softmax, persistent course_lib.kernels.persistent.persistent_softmax; liger and quack are what
liger-kernel and quack-kernels offer as softmax."""


def naive_softmax(x: torch.Tensor) -> torch.Tensor:
    """Softmax of each row by five operations, each of which passes over the matrix."""
    z = x - x.max(dim=1, keepdim=True).values
    numerator = torch.exp(z)
    return numerator / numerator.sum(dim=1, keepdim=True)


def torch_softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1)


PEERS = {
    "persistent": ("course_lib.kernels.persistent", "persistent_softmax"),
    "liger": ("liger_kernel.transformers.functional", "liger_softmax"),
    "quack": ("quack", "softmax"),
}
"""Where further providers are found; those that are not installed are left out."""


def providers(wanted: list[str] | None, unwanted: list[str]) -> dict[str, Softmax]:
    """Whom to measure, in the order of the file. Ends the program for a name that is not known, or not installed."""
    found: dict[str, Softmax] = {
        "copy": torch.clone,
        "naive": naive_softmax,
        "torch": torch_softmax,
        "torch.compile": torch_softmax,  # compiled for each shape, in `Run.measure`
        "ours": softmax,
    }
    for name, (module, function) in PEERS.items():
        try:
            found[name] = getattr(import_module(module), function)
        except Exception as error:  # a package may also fail while it is imported; then it cannot be measured
            print(f"{name} is absent: {type(error).__name__}: {error}")
    if unknown := set(wanted or ()) - set(found):
        sys.exit(f"There is no {', '.join(sorted(unknown))} here; there are {', '.join(found)}.")
    return {name: found[name] for name in found if name in (wanted or found) and name not in unwanted}


@dataclass
class Run:
    """What has been measured so far, and how."""

    functions: Mapping[str, Softmax]
    rounds: int
    points: list[Point] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def leave_out(self, name: str, dtype: str, x: torch.Tensor, how: How, why: str) -> None:
        """Note what is not measured. Ends the program if the GPU itself no longer answers, as after a stray store."""
        self.left_out.append(LeftOut(name, dtype, x.shape[0], x.shape[1], how, why[:300]))
        print(f"  left out: {name} ({how}): {why[:150]}")
        torch.cuda.synchronize()

    def measure(self, dtype: str, m: int, n: int, hows: Iterable[How]) -> None:
        """Check and time every provider on one matrix."""
        generator = torch.Generator(device().torch_device).manual_seed(n)
        x = torch.randn(m, n, generator=generator, device=generator.device).to(DTYPES[dtype])
        functions = dict(self.functions)
        if "torch.compile" in functions:
            torch.compiler.reset()  # what is kept of other shapes makes calls slower, and at last is too much to compile more
            functions["torch.compile"] = torch.compile(torch_softmax, dynamic=False, fullgraph=True)
        calls = {}
        for name, function in functions.items():
            calls[name] = bound(function, x)
            if why := refusal(name, calls[name], x, dtype):
                del calls[name]
                for how in hows:
                    self.leave_out(name, dtype, x, how, why)
        for how in hows:
            self.take_times(dtype, x, how, dict(calls))

    def take_times(self, dtype: str, x: torch.Tensor, how: How, calls: dict[str, bench.Call]) -> None:
        """Time calls in turns; one that cannot be timed is left out, and the others begin again."""
        n_bytes = 2 * x.numel() * x.element_size() if how == "cold" else None
        while calls:
            try:
                compared = bench.compare(calls, n_bytes, how=how, rounds=self.rounds, samples=SAMPLES[how])
            except bench.CallFailed as error:
                if error.name not in calls:
                    raise
                del calls[error.name]
                self.leave_out(error.name, dtype, x, how, str(error))
                continue
            timings = [timing for timing in compared.timings if timing.name in calls]
            self.points += [one for one in compared.points(dtype, *x.shape) if one.provider in calls]
            shown = "  ".join(f"{t.name} {t.gbps:.0f}" if t.gbps else f"{t.name} {t.ms * 1000:.2f}" for t in timings)
            unit = "GB/s" if n_bytes else "µs"
            passed = time.monotonic() - self.began
            print(f"{passed:4.0f} s  {dtype} {x.shape[0]} × {x.shape[1]} {how} ({unit}): {shown}", flush=True)
            return


def bound(function: Softmax, x: torch.Tensor) -> Callable[[], torch.Tensor]:
    return lambda: function(x)


def refusal(name: str, call: Callable[[], torch.Tensor], x: torch.Tensor, dtype: str) -> str | None:
    """Why a provider is not to be timed: what it raised, or how its result is wrong; None if it is right."""
    before = x.clone()
    stale = torch.full_like(x, float("nan"))
    del stale  # the result will lie in this memory, and must not be right because an earlier one was
    try:
        got = call()
        torch.cuda.synchronize()
    except Exception as error:  # whatever it is: the others are still to be measured
        return f"{type(error).__name__}: {error}"
    tolerance = TOLERANCE[dtype] * (ROUNDING if name == "naive" else 1)
    step = max(1, 2**24 // x.shape[1])
    try:
        for some in (slice(first, first + step) for first in range(0, x.shape[0], step)):
            want = before[some] if name == "copy" else torch.softmax(before[some].double(), -1).to(x.dtype)
            torch.testing.assert_close(got[some], want, rtol=tolerance, atol=1e-7)
    except AssertionError as error:
        return f"wrong values: {' '.join(str(error).split())}"
    return None if torch.equal(x, before) else "its input was changed"


def shapes(only: list[int] | None) -> Iterator[tuple[str, int, int, tuple[How, ...]]]:
    """What is measured in which way: dtype, rows, columns, ways."""
    for m, n in SMALL:
        if only is None or n in only:
            yield "float32", m, n, ("replay", "host", "cold")
    for dtype in DTYPES:
        for m, n in LARGE:
            if only is None or n in only:
                yield dtype, m, n, ("cold",)


def main(arguments: list[str] | None = None) -> int:
    """Measure, show and write; returns 1 if ours was wrong or failed anywhere, and 0 otherwise."""
    parser = argparse.ArgumentParser(description="Measure the row softmax on this GPU.")
    parser.add_argument("--quick", action="store_true", help="some sizes and two rounds")
    parser.add_argument("--only", type=int, nargs="+", metavar="N", help="these numbers of columns")
    parser.add_argument("--providers", nargs="+", metavar="NAME", help="these only, such as ours, torch, copy")
    parser.add_argument("--without", nargs="+", metavar="NAME", default=[], help="all but these, such as torch.compile")
    parser.add_argument("--rounds", type=int, help="how often each call has its turn (5)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where to write (course_lib/data/softmax-<gpu>.json)")
    options = parser.parse_args(arguments)
    here = bench.machine()
    functions = providers(options.providers, options.without)
    rounds = options.rounds or (2 if options.quick else 5)
    print(f"{here.name}: {', '.join(functions)}; {rounds} rounds", flush=True)
    run = Run(functions, rounds)
    for shape in shapes(options.only or (list(QUICK) if options.quick else None)):
        run.measure(*shape)
    print(f"{len(run.points)} points in {time.monotonic() - run.began:.0f} s, {len(run.left_out)} left out")
    if failures := [one for one in run.left_out if one.provider == "ours"]:
        print(f"Ours was wrong or failed at {len(failures)} points, so nothing is written.", *failures, sep="\n")
        return 1
    counts = {"rounds": rounds, "replayed": bench.REPLAYED, "launched": bench.LAUNCHED}
    method = METHOD.format(**counts, **{str(how): count for how, count in SAMPLES.items()}).replace("\n", " ")
    record = bench.recorded(run.points, method, run.left_out, PACKAGES)
    part = options.quick or options.only or options.providers or options.without
    out = options.out or (None if part else records.DATA / f"softmax-{records.slug(here.name)}.json")
    if out is None:
        print("This was a part of the whole, so nothing is written without --out FILE.")
    else:
        records.save(record, out)
        print(f"Written to {out}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
