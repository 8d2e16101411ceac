"""Measurements that were recorded on a GPU, for those who have none: read, checked, and never made up.

`benchmarks/` writes them into `course_lib/data/`, one JSON file for a subject and a GPU: `softmax-h200.json`. A file is

    {"device": "NVIDIA H200",           the GPU's full name, as its driver spells it
     "peak": 4800.0,                    GB/s that its memory can move at most
     "date": "2026-11-30",              the day, UTC
     "versions": {"torch": "2.11.0"},   of all that took part, by name
     "method": "…",                     how it was measured, in words
     "points": [{"provider": "ours", "dtype": "float32", "m": 4096, "n": 1024, "how": "cold",
                 "ms": 0.0131, "low": 0.0130, "high": 0.0132}],
     "left_out": [{"provider": "liger", "dtype": "float32", "m": 4096, "n": 131072, "how": "cold", "reason": "…"}]}

`m` and `n` are rows and columns; `ms`, `low` and `high` are the median and the 20 % and 80 % quantiles of one call's
milliseconds. `how` they were taken is explained with `How`. `left_out` names what could not be measured, with the reason.

Not here: measuring (`bench.py`), and drawing (`figures/speed.py`). Imports neither torch nor Triton.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any, Literal, get_args

from course_lib.errors import PlainError

DATA = Path(__file__).parent / "data"

How = Literal["cold", "replay", "host"]
"""How a call was timed. "cold": on the GPU, after its L2 cache was overwritten. "replay": on the GPU, from a CUDA graph of
many such calls, so without Python and with its data in L2. "host": on the CPU, until the call returns."""

WAYS: Mapping[How, str] = {
    "cold": "on the GPU, cold L2",
    "replay": "on the GPU, replayed from a CUDA graph",
    "host": "on the CPU, until the call returns",
}
"""What figures and tables say of them."""

ITEMSIZE: Mapping[str, int] = {"float32": 4, "float16": 2, "bfloat16": 2}
"""Bytes of one element, by the name of its dtype."""


class RecordError(PlainError, ValueError):
    """A record that isn't there, or one that cannot be right."""


def bandwidth(n_bytes: float, ms: float) -> float:
    """Effective bandwidth in GB/s: the bytes that a call must move at least, over the milliseconds that it took.

    >>> bandwidth(2 * 4096 * 1024 * 4, 0.0128), bandwidth(8, 0)
    (2621.44, inf)
    """
    return n_bytes / ms * 1e-6 if ms else float("inf")


@dataclass(frozen=True)
class Point:
    """One provider's time for a matrix of `m` rows and `n` columns: median, 20 % and 80 % quantile, in milliseconds."""

    provider: str
    dtype: str
    m: int
    n: int
    how: How
    ms: float
    low: float
    high: float

    def __post_init__(self) -> None:
        _check_place(self)
        times = (self.low, self.ms, self.high)
        if not all(map(_is_positive, times)) or list(times) != sorted(times):
            raise RecordError(f"low, ms and high are positive milliseconds that do not fall, not {times}")

    @property
    def n_bytes(self) -> int:
        """What is moved at least: every element is read once and written once."""
        return 2 * self.m * self.n * ITEMSIZE[self.dtype]

    @property
    def gbps(self) -> tuple[float, float, float]:
        """Effective bandwidth in GB/s: of the median, least and most, in the order that triton.testing.perf_report takes."""
        return bandwidth(self.n_bytes, self.ms), bandwidth(self.n_bytes, self.high), bandwidth(self.n_bytes, self.low)


@dataclass(frozen=True)
class LeftOut:
    """What could not be measured, and why."""

    provider: str
    dtype: str
    m: int
    n: int
    how: How
    reason: str

    def __post_init__(self) -> None:
        _check_place(self)
        _check_text(self, "reason")


@dataclass(frozen=True)
class Record:
    """Measurements of one run on one GPU; `peak` is what its memory can move at most, in GB/s."""

    device: str
    peak: float
    date: str
    versions: Mapping[str, str]
    method: str
    points: tuple[Point, ...]
    left_out: tuple[LeftOut, ...] = ()

    def __post_init__(self) -> None:
        _check(self)

    def __repr__(self) -> str:
        return f"<Record of {self.device}, {self.date}: {len(self.points)} points, {len(self.left_out)} left out>"

    @property
    def providers(self) -> tuple[str, ...]:
        """Whoever has a point, in the order of the file."""
        return tuple(dict.fromkeys(point.provider for point in self.points))

    def select(
        self,
        *,
        provider: str | None = None,
        dtype: str | None = None,
        m: int | None = None,
        n: int | None = None,
        how: How | None = None,
    ) -> tuple[Point, ...]:
        """The points that have all of these, by growing `n`; None takes any. Empty if there are none."""
        wanted = {"provider": provider, "dtype": dtype, "m": m, "n": n, "how": how}
        asked = {name: value for name, value in wanted.items() if value is not None}
        found = (point for point in self.points if all(getattr(point, name) == value for name, value in asked.items()))
        return tuple(sorted(found, key=lambda point: point.n))

    def point(self, provider: str, *, m: int, n: int, dtype: str = "float32", how: How = "cold") -> Point:
        """The one point for this. Raises `RecordError` if it was not measured, with the reason where that is known."""
        found = self.select(provider=provider, dtype=dtype, m=m, n=n, how=how)
        if found:
            return found[0]
        asked = (provider, dtype, m, n, how)
        reasons = [one.reason for one in self.left_out if (one.provider, one.dtype, one.m, one.n, one.how) == asked]
        why = reasons[0] if reasons else f"it holds {', '.join(self.providers)}; select(…) shows at which sizes"
        raise RecordError(f"the record of {self.device} has no point for {provider}, {dtype}, {m} × {n}, {how}: {why}")

    def share(self, point: Point) -> float:
        """A point's speed as a share of the plain copy's for the same matrix, timed in the same way and run.

        Raises `RecordError` if the copy has no such point.
        """
        copy = self.point("copy", m=point.m, n=point.n, dtype=point.dtype, how=point.how)
        return copy.ms / point.ms


def record(subject: str, gpu: str) -> Record:
    """What was recorded of a subject on a GPU, such as `record("softmax", "h200")`; case does not matter.

    Raises `RecordError` if there is no such record, or if its file cannot be right.
    """
    path = DATA / f"{subject}-{slug(gpu)}.json"
    if not path.exists():
        there = sorted(file.stem for file in DATA.glob("*-*.json"))
        named = f"there are {', '.join(there)}" if there else "there are none yet: benchmarks/ makes them on a GPU"
        raise RecordError(f"there is no record {path.stem!r}; {named}")
    return load(path)


def load(path: Path) -> Record:
    """The record in a file. Raises `RecordError`, with the file's name, if it is not as this module's first lines say."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return _made(Record, content, points=_all(Point, content, "points"), left_out=_all(LeftOut, content, "left_out"))
    except json.JSONDecodeError as error:
        raise RecordError(f"{path.name} is not JSON: {error}") from None
    except RecordError as error:
        raise RecordError(f"{path.name}: {error}") from None


def save(what: Record, path: Path) -> None:
    """Write a record, a point a line; an interruption leaves the file as it was before."""
    head = {"device": what.device, "peak": what.peak, "date": what.date, "versions": dict(what.versions), "method": what.method}
    text = json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}")
    lists: dict[str, tuple[Point, ...] | tuple[LeftOut, ...]] = {"points": what.points, "left_out": what.left_out}
    for name, items in lists.items():
        lines = ",".join(f"\n  {json.dumps(asdict(item), ensure_ascii=False)}" for item in items)
        text += f',\n "{name}": [{lines}\n ]'
    part = path.with_name(f"{path.name}.part")
    part.write_text(f"{text}\n}}\n", encoding="utf-8")
    os.replace(part, path)


def slug(gpu: str) -> str:
    """A GPU's name as files have it: without its vendor, in small letters.

    >>> slug("NVIDIA H200"), slug("NVIDIA GeForce RTX 4090"), slug("Tesla T4")
    ('h200', 'rtx-4090', 't4')
    """
    short = re.sub(r"\b(nvidia|geforce|tesla|amd|instinct)\b", " ", gpu.casefold())
    return re.sub(r"[^a-z0-9]+", "-", short).strip("-")


# --- what a file must be ----------------------------------------------------------------------------------------------


def _all(kind: type, content: Any, name: str) -> tuple[Any, ...]:
    """The objects of a list; `left_out` may be missing."""
    items = content.get(name, [] if name == "left_out" else None) if isinstance(content, dict) else None
    if not isinstance(items, list):
        raise RecordError(f"it is an object with a list called {name!r}")
    return tuple(_made(kind, item, where=f"{name}[{number}]: ") for number, item in enumerate(items))


def _made(kind: type, content: Any, where: str = "", **ready: Any) -> Any:
    """One object of a dataclass, from a JSON object that has exactly its fields."""
    names = [field.name for field in fields(kind)]
    if not isinstance(content, dict) or {*content, *ready} != set(names):
        raise RecordError(f"{where}it is an object with {', '.join(names)}, not {content!r:.200}")
    try:
        return kind(**{**content, **ready})
    except RecordError as error:
        raise RecordError(f"{where}{error}") from None


def _check(what: Record) -> None:
    """Raise `RecordError` if a record cannot be right."""
    _check_text(what, "device", "date", "method")
    try:
        date.fromisoformat(what.date)
    except ValueError:
        raise RecordError(f"date is a day such as 2026-11-30, not {what.date!r}") from None
    if not isinstance(what.versions, Mapping) or not all(isinstance(one, str) for one in what.versions.values()):
        raise RecordError(f"versions are an object of strings, not {what.versions!r}")
    if not _is_positive(what.peak):
        raise RecordError(f"peak is a positive number of GB/s, not {what.peak!r}")
    if not what.points:
        raise RecordError("there are no points")
    seen = set()
    for point in what.points:
        key = (point.provider, point.dtype, point.m, point.n, point.how)
        if key in seen:
            raise RecordError(f"there are two points for {point}")
        seen.add(key)
        if point.how == "cold" and point.gbps[2] > what.peak:
            raise RecordError(f"{point} would be {point.gbps[2]:.0f} GB/s, and {what.device} moves {what.peak:.0f} at most")


def _check_place(what: Point | LeftOut) -> None:
    """Raise `RecordError` if there can be no such matrix, or no such way to time it."""
    _check_text(what, "provider")
    if what.dtype not in ITEMSIZE:
        raise RecordError(f"dtype is one of {', '.join(ITEMSIZE)}, not {what.dtype!r}")
    if what.how not in get_args(How):
        raise RecordError(f"how is one of {', '.join(get_args(How))}, not {what.how!r}")
    for name in ("m", "n"):
        value = getattr(what, name)
        if type(value) is not int or value < 1:
            raise RecordError(f"{name} is a positive integer, not {value!r}")


def _check_text(what: object, *names: str) -> None:
    for name in names:
        value = getattr(what, name)
        if not isinstance(value, str) or not value.strip():
            raise RecordError(f"{name} is text, not {value!r}")


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")
