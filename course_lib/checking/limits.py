"""What one run of an answer may use, and how long each of the processes around it waits."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What one run may use: seconds of processor time and of waiting, bytes of memory and of files.

    Time in the queue for a processor is neither computing nor waiting: it is the machine's, not the answer's.
    """

    cpu_seconds: float = 8.0
    wall_seconds: float = 12.0
    memory_bytes: int | None = 3 * 2**29
    file_bytes: int = 2**30


GRACE = 1.5
"""Seconds between the worker's own alarm, which tells where it was, and its end by force."""

MOST_PROCESSES = 16
"""Most processes that an answer may have at a time. Triton's tools need a few."""
MOST_TASKS = 128
"""Most processes and threads together."""
MOST_DISK_BYTES = 4 * 2**30
"""An answer during which the disk's free space falls by more is stopped."""


def longest(limits: Limits) -> float:
    """Seconds after which a run ends in any case: on a machine that gives it so little time, nothing can be judged."""
    return 4 * limits.wall_seconds + GRACE
