"""Runs of the thread simulator (`machine/warp.py`) as plain data, from the answer's process to its judge.

`noted` makes a `BlockRun` of a run in the answer's process; `threads.py` judges it in the parent's.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from course_lib.checking.inside import ANSWER_FILE
from course_lib.machine.trace import Access, Run, Shuffle
from course_lib.machine.undefined import UndefinedValue
from course_lib.machine.warp import Stuck


@dataclass(frozen=True)
class Origin:
    """Where an undefined value first came from: "lane" is one that took no part, "unwritten" shared memory that nobody wrote.

    `thread` got it, in this line; `place` is the lane or the element, in words.
    """

    kind: Literal["lane", "unwritten"]
    thread: int
    place: str
    line: int


@dataclass(frozen=True)
class Meeting:
    """A race, in words, with the line of the later access."""

    text: str
    line: int


@dataclass(frozen=True)
class Waiting:
    """How many threads, the first of them `first`, wait for ever for `what` in this line."""

    what: str
    line: int
    first: int
    threads: int


@dataclass(frozen=True)
class BlockRun:
    """One run of a block, as far as it came. `undecided` is the line in which a thread looked at an undefined value, or 0."""

    threads: int
    warp_size: int
    exchanges: int
    races: int = 0
    race: Meeting | None = None
    origin: Origin | None = None
    stuck: tuple[Waiting, ...] = ()
    undecided: int = 0

    def plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self)


def noted(run: Run, error: Exception | None) -> BlockRun:
    """What the judge needs to know of a run, and of the error that ended it."""
    races = run.races
    return BlockRun(
        threads=len(run.results),
        warp_size=run.warp_size,
        exchanges=len(run.events),
        races=len({(race.first.array, race.first.index) for race in races}),
        race=Meeting(str(races[0]), races[0].second.line) if races else None,
        origin=_first_origin(run),
        stuck=tuple(Waiting(one.what, one.line, one.threads[0], len(one.threads)) for one in error.waiting)
        if isinstance(error, Stuck)
        else (),
        undecided=_line_of(error) if isinstance(error, UndefinedValue) else 0,
    )


def read(data: dict[str, Any]) -> BlockRun:
    """A `BlockRun` from its plain form."""
    return BlockRun(
        threads=int(data["threads"]),
        warp_size=int(data["warp_size"]),
        exchanges=int(data["exchanges"]),
        races=int(data["races"]),
        race=Meeting(**data["race"]) if data["race"] else None,
        origin=Origin(**data["origin"]) if data["origin"] else None,
        stuck=tuple(Waiting(**one) for one in data["stuck"]),
        undecided=int(data["undecided"]),
    )


def _first_origin(run: Run) -> Origin | None:
    """Shared memory goes first: what comes from a lane that is not there is often left aside, as it should be."""
    found: list[Origin] = []
    written: set[tuple[str, int]] = set()
    for event in run.events:
        if isinstance(event, Shuffle):
            found += _from_nobody(event, run.warp_size)
        elif isinstance(event, Access) and event.kind == "write":
            written.add((event.array, event.index))
        elif isinstance(event, Access) and (event.array, event.index) not in written:
            found.append(Origin("unwritten", event.thread, f"{event.array}[{event.index}]", event.line))
    return next((one for one in found if one.kind == "unwritten"), found[0] if found else None)


def _from_nobody(shuffle: Shuffle, warp_size: int) -> Iterator[Origin]:
    """The lanes that asked one that took no part."""
    for lane, source in enumerate(shuffle.source):
        if source is not None and shuffle.source[source] is None:
            yield Origin("lane", shuffle.warp * warp_size + lane, f"lane {source}", shuffle.line)


def _line_of(error: Exception) -> int:
    """The innermost line of the answer that an error passed through; 0 if there is none."""
    lines = [
        frame.lineno or 0 for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).name == ANSWER_FILE
    ]
    return lines[-1] if lines else 0
