"""What a simulated block did (`warp.run_block`), as values that tests can compare and figures can draw."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from course_lib.machine.undefined import UNDEFINED

ShuffleOp = Literal["shfl_xor", "shfl_down", "shfl_up", "shfl"]
AccessKind = Literal["read", "write"]


@dataclass(frozen=True)
class Shuffle:
    """One exchange within a warp. Per lane: what it gave, the lane that it reads from, and what it got.

    Lanes that did not take part have None for all three. `line` is where the kernel asked for it.
    """

    warp: int
    op: ShuffleOp
    gave: tuple[Any, ...]
    source: tuple[int | None, ...]
    got: tuple[Any, ...]
    line: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True)
class Access:
    """One access to shared memory: by which thread, to which place, with which value, and in which line of the kernel."""

    thread: int
    kind: AccessKind
    array: str
    index: int
    value: Any
    line: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True)
class Barrier:
    """A barrier that this many threads of the block came through: all that had not returned."""

    number: int
    threads: int


@dataclass(frozen=True)
class Race:
    """Two threads at one place of shared memory, one of them writing, with nothing that puts them in order."""

    first: Access
    second: Access

    def __str__(self) -> str:
        one, other = self.first, self.second
        return (
            f"{one.array}[{one.index}]: thread {one.thread} {one.kind}s and thread {other.thread} {other.kind}s, "
            "with no barrier between them"
        )


@dataclass(frozen=True, repr=False)
class Run:
    """Each thread's result, all events in the order of the simulation, and the races found."""

    results: tuple[Any, ...]
    events: tuple[Shuffle | Access | Barrier, ...]
    races: tuple[Race, ...]
    warp_size: int

    @property
    def shuffles(self) -> tuple[Shuffle, ...]:
        return tuple(event for event in self.events if isinstance(event, Shuffle))

    @property
    def accesses(self) -> tuple[Access, ...]:
        return tuple(event for event in self.events if isinstance(event, Access))

    @property
    def barriers(self) -> int:
        return sum(isinstance(event, Barrier) for event in self.events)

    @property
    def undefined(self) -> tuple[int, ...]:
        """The threads whose result is undefined."""
        return tuple(thread for thread, result in enumerate(self.results) if result is UNDEFINED)

    def __repr__(self) -> str:
        return (
            f"<Run of {len(self.results)} threads: {len(self.shuffles)} shuffles, {self.barriers} barriers, "
            f"{len(self.accesses)} accesses to shared memory, {len(self.races)} races, {len(self.undefined)} undefined results>"
        )
