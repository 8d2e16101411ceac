"""On a GPU machine: time the same calls in several ways, right and wrong, for lesson 10 to show.

    python benchmarks/wrong_timings.py

Writes course_lib/data/timings_<gpu>.json, which course_lib/timings.py describes and reads. `WAYS` says how each was timed.
Takes less than a minute.
"""

from __future__ import annotations

import datetime
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version

import torch
import triton
from triton.testing import do_bench, do_bench_cudagraph

from course_lib.device import device
from course_lib.kernels.softmax import softmax
from course_lib.machine.specs import find_gpu
from course_lib.timings import DATA, Reading, Series, Timings, save

CALLS, ROUNDS, SAMPLES = 50, 20, 200
QUANTILES = (0.5, 0.2, 0.8)
SHAPES = ((64, 256), (64, 2048), *((4096, 2**k) for k in range(8, 15)))

Call = Callable[[], object]
Times = tuple[float, float, float]
"""Milliseconds: the median, the 20 % and the 80 % quantile."""


@triton.jit
def empty_kernel():
    pass


def providers(x: torch.Tensor) -> dict[str, Call]:
    """What is timed, by name. "nothing" makes no call at all, and "empty" launches a kernel that does nothing."""
    out = torch.empty_like(x)
    return {
        "nothing": lambda: None,
        "empty": lambda: empty_kernel[(x.shape[0],)](),
        "copy": lambda: out.copy_(x),
        "torch": lambda: torch.softmax(x, dim=-1),
        "ours": lambda: softmax(x),
    }


def quantiles(times: list[float]) -> Times:
    """The quantiles of several times."""
    ordered = sorted(times)
    low, high = (ordered[round(part * (len(ordered) - 1))] for part in QUANTILES[1:])
    return statistics.median(ordered), low, high


def milliseconds(work: Call, wait: bool) -> float:
    """What a clock of the host shows for `work`, with or without waiting until the GPU is done."""
    torch.cuda.synchronize()
    began = time.perf_counter()
    work()
    if wait:
        torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - began)


def several(call: Call) -> Call:
    """`CALLS` calls in one."""

    def work() -> None:
        for _ in range(CALLS):
            call()

    return work


def by_the_host(call: Call, calls: int, wait: bool) -> Times:
    """Quantiles over several rounds of `calls` calls, for one call each."""
    work = call if calls == 1 else several(call)
    rounds = ROUNDS if calls > 1 else ROUNDS * CALLS
    return quantiles([milliseconds(work, wait) / calls for _ in range(rounds)])


WAYS: dict[str, tuple[str, Callable[[Call], Times]]] = {
    "first": (
        "a clock of the host around the very first call, which compiles the kernel, and a wait for the GPU",
        lambda call: (milliseconds(call, wait=True),) * 3,
    ),
    "cold": (
        "events of the GPU around each call, the L2 cache overwritten before (triton.testing.do_bench)",
        lambda call: tuple(do_bench(call, quantiles=QUANTILES)),
    ),
    "warm": (
        "the same call again and again from a CUDA graph, the L2 cache left as it is (triton.testing.do_bench_cudagraph)",
        lambda call: tuple(do_bench_cudagraph(call, quantiles=QUANTILES)),
    ),
    "no wait": (
        f"a clock of the host around {CALLS} calls, without waiting for the GPU",
        lambda call: by_the_host(call, CALLS, wait=False),
    ),
    "wait once": (
        f"a clock of the host around {CALLS} calls and one wait for the GPU",
        lambda call: by_the_host(call, CALLS, wait=True),
    ),
    "wait each": (
        "a clock of the host around one call and a wait for the GPU",
        lambda call: by_the_host(call, 1, wait=True),
    ),
}
"""By name: in words, and as a function that times a call."""


def readings() -> Iterator[Reading]:
    """Every call, shape by shape, in every way."""
    for place, (m, n) in enumerate(SHAPES):
        x = torch.randn(m, n, device="cuda")
        for name, call in providers(x).items():
            ways = ["cold"] if name == "nothing" else [way for way in WAYS if way != "first" or place == 0]
            for way in ways:
                yield Reading(name, m, n, way, *WAYS[way][1](call))


def series() -> Iterator[Series]:
    """One by one: the first calls after compiling was forgotten, and what do_bench draws its quantiles from."""
    for m, n in ((64, 2048), (4096, 4096)):
        x = torch.randn(m, n, device="cuda")
        yield Series("ours", m, n, "cold", do_bench(lambda x=x: softmax(x), return_mode="all")[:SAMPLES])
    x = torch.randn(64, 1999, device="cuda")  # a width that nothing was compiled for
    yield Series("ours", *x.shape, "first", [milliseconds(lambda: softmax(x), wait=True) for _ in range(SAMPLES)])


def main() -> int:
    """Measure and write; the exit code."""
    if device().mode != "gpu":
        sys.exit("This needs a GPU that Triton can use. Run `course doctor` to see why there is none.")
    began = time.monotonic()
    torch.ones(1, device="cuda").sum()
    name = torch.cuda.get_device_name()
    path = DATA / f"timings_{find_gpu(name).name.lower().replace(' ', '-')}.json"
    versions = {
        "torch": version("torch"),
        "triton": version("triton"),
        "cuda": str(torch.version.cuda),
        "python": platform.python_version(),
    }
    ways = {way: words for way, (words, _) in WAYS.items()}
    measured = Timings(name, datetime.date.today().isoformat(), versions, ways, tuple(readings()), tuple(series()))
    save(measured, path)
    print(f"{len(measured.readings)} readings in {path}, {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache  # empty, so that a first call has to compile
        sys.exit(main())
