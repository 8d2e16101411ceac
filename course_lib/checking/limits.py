"""What one run of an answer may use, and how long each of the processes around it waits."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Limits:
    """What one run may use: seconds of processor time and of waiting, bytes of memory and of files.

    `cpu_seconds` and `wall_seconds` are for each case, so that a slow machine may take its time over many; `total_seconds` of
    either are for all of them. Time in the queue for a processor is neither computing nor waiting: it is the machine's, not
    the answer's. `kernel_seconds` are for the compilation of one kernel; most take a tenth of one, one with a tile of 2¹⁸
    elements most of a minute.
    """

    cpu_seconds: float = 8.0
    wall_seconds: float = 12.0
    total_seconds: float = 60.0
    kernel_seconds: float = 20.0
    memory_bytes: int | None = 3 * 2**29
    file_bytes: int = 2**30


GRACE = 1.5
"""Seconds of waiting between the worker's own alarm, which tells where it was, and its end by force."""
CPU_GRACE = 0.5
"""The same in seconds of processor time."""

MOST_PROCESSES = 16
"""Most processes that an answer may have at a time. Triton's tools need a few."""
MOST_TASKS = 128
"""Most processes and threads together."""
MOST_DISK_BYTES = 4 * 2**30
"""An answer during which the disk's free space falls by more is stopped."""


LONGEST = 4
"""A case ends after so many times its limit on waiting. When a machine gave it too little time, nothing is known."""


def longest(limits: Limits) -> float:
    """Seconds after which a run ends in any case."""
    return LONGEST * max(limits.wall_seconds, limits.total_seconds) + GRACE


def of_all_cases(limits: Limits) -> Limits:
    """The limits of one case that is all there is, where the cases together have these. All may wait as long as one may."""
    return replace(limits, cpu_seconds=limits.total_seconds, wall_seconds=max(limits.wall_seconds, limits.total_seconds))


def next_end(limits: Limits, elapsed: float, computed: float, queued: float) -> tuple[str, float]:
    """What a case will have to be stopped for first if it goes on as it does, and in how many seconds; all times in seconds.

    >>> limits = Limits(cpu_seconds=8, wall_seconds=12)
    >>> next_end(limits, elapsed=20, computed=8.5, queued=11), next_end(limits, elapsed=20, computed=0, queued=6.5)
    (('cpu', 0.0), ('wall', 0.0))
    >>> next_end(limits, elapsed=49.5, computed=2, queued=47)
    ('busy', 0.0)
    """
    left = {
        "cpu": limits.cpu_seconds + CPU_GRACE - computed,
        "wall": limits.wall_seconds + GRACE - (elapsed - computed - queued),
        "busy": LONGEST * limits.wall_seconds + GRACE - elapsed,
    }
    first = min(left, key=lambda kind: left[kind])
    return first, left[first]
