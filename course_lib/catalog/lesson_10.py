"""Lesson 10: measuring a kernel: effective bandwidth, clocks and queues, cold caches, and what is wrong with a benchmark."""

from __future__ import annotations

import math
import random
from typing import Any

import torch

from course_lib.catalog.forms import is_list, is_whole, wrong
from course_lib.catalog.model import Exercise, Hint, Lesson, Params, Quiz, Tolerance
from course_lib.machine.launches import timeline
from course_lib.timings import PUBLISHED

NAME = "10_measuring"

TIME_FACTOR = Quiz(
    name="time_factor",
    lesson=NAME,
    question=(
        "The Triton kernel's effective bandwidth is 18.29 GB/s for 256 columns and 146.29 GB/s for 2048: eight times as many "
        "columns, and eight times the bandwidth. By which factor does the time of a call grow?"
    ),
    form="one whole number",
    accepts=is_whole,
    expected=lambda: round((2048 / PUBLISHED[2048][0]) / (256 / PUBLISHED[256][0])),
    explanation="Bandwidth is bytes over time. Eight times the bytes at eight times the bandwidth take just as long as before.",
    wrong=(
        wrong(8, "The bytes grow by that. Bandwidth is bytes over time: what must the time have done, if it grew as well?"),
        wrong(64, "Bandwidth is bytes *over* time: bytes that grow do not make the time grow by themselves."),
        wrong(0, "A factor of 0 would mean no time at all. If nothing changes, the factor is 1."),
    ),
    hints=(
        Hint("Bandwidth = bytes / time. So time = bytes / bandwidth."),
        Hint("The bytes grow by 2048 / 256. And the bandwidth?"),
        Hint("(2048 / 256) / (146.29 / 18.29)"),
    ),
)

CLOCK_READINGS = Quiz(
    name="clock_readings",
    lesson=NAME,
    question=(
        "A launch keeps the host busy for 5 µs, and the kernel then keeps the GPU busy for 100 µs. A clock of the host runs "
        "from before the first of 10 calls until it is stopped: without any waiting; after one wait at the end; after a wait "
        "in each turn of the loop. What does it show, in µs for all ten?"
    ),
    form="a list of three whole numbers: without waiting, one wait at the end, a wait in each turn",
    accepts=lambda value: is_list(value, 3),
    expected=lambda: [round(timeline(10, 5, 100, wait).stopped) for wait in ("never", "once", "each")],
    explanation=(
        "Without waiting, the clock sees ten launches and no kernel: 10 · 5. With one wait it sees the first launch and ten "
        "kernels in a row: 5 + 10 · 100, as the other launches take place behind the kernels' backs. With a wait in each turn "
        "nothing overlaps: 10 · (5 + 100)."
    ),
    wrong=(
        wrong([50, 1050, 1050], "With one wait at the end, the host launches the next kernels while the first one runs."),
        wrong([50, 1000, 1050], "Nearly. The first kernel cannot begin before its launch is done, and the clock runs already."),
        wrong([1005, 1005, 1050], "A launch returns at once. Without waiting, who tells the clock when the kernels are done?"),
        wrong([0, 1005, 1050], "A launch takes the host 5 µs, and there are ten of them."),
        wrong([5, 105, 105], "That is for one call. The clock runs through all ten."),
    ),
    hints=(
        Hint("Draw two lines, one for the host and one for the GPU. A launch stands on the first, a kernel on the second."),
        Hint("A kernel begins when its launch is done and the kernel before it is, whichever comes last."),
        Hint("Without waiting, only launches count. With a wait in each turn, launch and kernel follow each other ten times."),
    ),
)

FAULTS = ("compiles", "no wait", "waits", "cache", "bytes", "runs")
"""What may be wrong with a benchmark, as the lesson lists it."""
_FORM = "one of these words: " + ", ".join(f'"{fault}"' for fault in FAULTS)


def _is_fault(value: Any) -> bool:
    return value in FAULTS


BENCHMARK_1 = Quiz(
    name="benchmark_1",
    lesson=NAME,
    question="What is wrong with the first benchmark?",
    form=_FORM,
    accepts=_is_fault,
    expected=lambda: "waits",
    explanation=(
        "Each reading holds the launch, the kernel and the way back to the host. For a kernel of a few microseconds the rest "
        "is most of it. Let the GPU note the time before and after the kernel, with events, or wait once for many calls."
    ),
    wrong=(
        wrong("compiles", "The first call, which compiles, comes before the loop, on the same input."),
        wrong("no wait", "There is a wait before each time the clock is read. Is that not too much of a good thing?"),
        wrong("cache", "`flush.zero_()` writes more than the L2 cache holds, and the clock starts after that is done."),
        wrong("bytes", "Each element is read once and written once, with `element_size()` bytes. That is right."),
        wrong("runs", "There is one figure here, and it is compared with nothing."),
    ),
    hints=(
        Hint("Go through it line by line: what has happened between the two times that the clock is read?"),
        Hint("The input is 64 × 2048: the kernel takes a few microseconds. What else does a reading hold?"),
        Hint("A wait inside the loop keeps the host from launching ahead."),
    ),
)

BENCHMARK_2 = Quiz(
    name="benchmark_2",
    lesson=NAME,
    question="What is wrong with the second benchmark?",
    form=_FORM,
    accepts=_is_fault,
    expected=lambda: "cache",
    explanation=(
        "Input and result are 8 MiB each, and the L2 cache of an H200 holds 60 MiB. From the second call in the graph on, "
        "nothing has to come from memory. The figure is real, but it is the cache's, and it is called the memory's."
    ),
    wrong=(
        wrong("compiles", "The first call, which compiles, comes before the graph is recorded, on the same input."),
        wrong("no wait", "The events are the GPU's, and the host waits before it asks for the time between them."),
        wrong("waits", "There is one wait for 100 calls, outside of the graph."),
        wrong("bytes", "Each element is read once and written once, with `element_size()` bytes. That is right."),
        wrong("runs", "There is one figure here, and it is compared with nothing."),
    ),
    hints=(
        Hint("How many bytes does one call read and write?"),
        Hint("All 100 calls read the same input. Where does it lie when the second call begins?"),
        Hint("Compare the bytes with the size of the GPU's L2 cache."),
    ),
)

BENCHMARK_3 = Quiz(
    name="benchmark_3",
    lesson=NAME,
    question="What is wrong with the third benchmark?",
    form=_FORM,
    accepts=_is_fault,
    expected=lambda: "bytes",
    explanation=(
        "An element of bf16 has 2 bytes, and 4 are counted: the figure is twice what it should be. `x.element_size()` knows. "
        "Other favourites: to count one way only, or, for a fused kernel, the bytes that a naive one would have moved."
    ),
    wrong=(
        wrong("compiles", "`do_bench` makes a call before it measures."),
        wrong("no wait", "`do_bench` measures with the GPU's events, and waits before it reads them."),
        wrong("waits", "`do_bench` waits once, at the end."),
        wrong("cache", "`do_bench` overwrites the L2 cache before each call."),
        wrong("runs", "Both figures are measured in the same run, one after the other."),
    ),
    hints=(
        Hint("`do_bench` takes care of the clock and the cache. What is left to do wrong?"),
        Hint("How is the time made into a bandwidth?"),
        Hint("The input is of `torch.bfloat16`."),
    ),
)


def _measurement(generator: torch.Generator, m: int, n: int, itemsize: int, ms: float) -> tuple[Any, ...]:
    return m, n, itemsize, ms


def _bandwidth(m: int, n: int, itemsize: int, ms: float) -> float:
    return 2 * m * n * itemsize / ms * 1e-6 if ms > 0 else math.nan


def _drawn(numbers: random.Random) -> tuple[Params, ...]:
    """Shapes and times that nobody knows beforehand, such that the figure is one that a GPU's memory can have."""
    cases = []
    for itemsize in (2, 4, 8):
        m, n, gbps = numbers.randint(500, 5000), numbers.randint(500, 5000), numbers.uniform(100, 4000)
        cases.append({"m": m, "n": n, "itemsize": itemsize, "ms": round(2 * m * n * itemsize / gbps * 1e-6, 6)})
    return tuple(cases)


EFFECTIVE_BANDWIDTH = Exercise(
    name="effective_bandwidth",
    lesson=NAME,
    signature="effective_bandwidth(m, n, itemsize, ms)",
    statement=(
        "A fused softmax over an `m` × `n` matrix, whose elements have `itemsize` bytes, took `ms` milliseconds. Return its "
        "effective bandwidth in GB/s (10⁹ bytes a second), counting that each element is read once and written once. Where "
        "`ms` is 0 or less, nothing was measured: return NaN. Any other figure is returned as it is, however large or small."
    ),
    reference=_bandwidth,
    make_inputs=_measurement,
    cases=(
        {"m": 3, "n": 500, "itemsize": 1, "ms": 0.0021},
        {"m": 64, "n": 257, "itemsize": 4, "ms": 0.0072},
        {"m": 64, "n": 257, "itemsize": 4, "ms": 0.0019},
        {"m": 1, "n": 777, "itemsize": 2, "ms": 0.0017},
        {"m": 64, "n": 2048, "itemsize": 4, "ms": 0.007168},
        {"m": 1823, "n": 781, "itemsize": 8, "ms": 0.0113},
        {"m": 4096, "n": 1000, "itemsize": 2, "ms": 0.0091},
        {"m": 4096, "n": 4096, "itemsize": 4, "ms": 0.004},
        {"m": 4096, "n": 131072, "itemsize": 4, "ms": 1.05},
        {"m": 0, "n": 1024, "itemsize": 4, "ms": 0.0016},
        {"m": 64, "n": 128, "itemsize": 4, "ms": 0.0},
        {"m": 64, "n": 128, "itemsize": 4, "ms": -0.25},
    ),
    drawn=_drawn,
    works_on="numbers",
    # fp32 would be off by some units of 6e-8; a figure rounded to whole GB/s by much more.
    tolerance=Tolerance(rtol=1e-6),
    hints=(
        Hint(
            "Bandwidth is bytes over time. How many bytes are read, and how many are written? Only the m · n elements count, "
            "with `itemsize` bytes each; and `/` keeps what `//` cuts off.",
            frozenset({"mismatch"}),
        ),
        Hint(
            "A factor that is the same everywhere is a unit, or a direction. 0.5: what is read is written, too. 1000 or 0.001: "
            "a millisecond is 10⁻³ s. 8: bits are not bytes. 0.93: a GB is 10⁹ bytes, a GiB 2³⁰. 10⁹: bytes are not GB.",
            frozenset({"scaled"}),
        ),
        Hint(
            'A clock can show 0. Look at `ms` before you divide: where it is 0 or less, the result is `float("nan")`, not '
            "an error, and not a number that looks like a result.",
            frozenset({"crash", "mismatch"}),
            case=r"ms=(0\.0|-0\.25)$",
        ),
        Hint(
            "Return the number as it comes: not rounded, not limited to what a memory can do. Whoever reads 33,554 GB/s must "
            "be able to see that it is impossible.",
            frozenset({"mismatch:near"}),
        ),
        Hint(
            "33,554 GB/s is impossible, and that is for the reader to see. Return the number as it comes.",
            frozenset({"mismatch", "crash", "nan"}),
            case=r"ms=0\.004$",
            asked=False,
        ),
        Hint(
            "Plain Python integers have room for any number of bytes. NumPy's and torch's 32-bit ones wrap beyond 2³¹.",
            frozenset({"mismatch"}),
            case="n=131072",
            asked=False,
        ),
        Hint(
            "A matrix without rows moves 0 bytes, in whatever time: that is 0 GB/s.",
            frozenset({"nan", "crash", "mismatch"}),
            case="m=0,",
            asked=False,
        ),
        Hint("A plain number is asked for, without its unit, by `return`.", frozenset({"wrong_type"}), asked=False),
        Hint("Nearly the answer: `2 * m * n * itemsize / ms * 1e-6` if `ms > 0`."),
    ),
)

LESSON = Lesson(
    name=NAME,
    title="Measuring",
    minutes=40,
    items=(TIME_FACTOR, CLOCK_READINGS, BENCHMARK_1, BENCHMARK_2, BENCHMARK_3, EFFECTIVE_BANDWIDTH),
)
