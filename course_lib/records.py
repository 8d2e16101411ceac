"""Measurements that were recorded on a GPU, for those who have none: read, checked, and never made up.

`benchmarks/` writes them into `course_lib/data/`, one JSON file for a subject and a GPU: `softmax-h200.json`. A file is

    {"device": "NVIDIA H200",           the GPU's full name, as its driver spells it
     "peak": 4800.0,                    GB/s that its memory can move at most
     "tflops": {"float16": 989.5},      by dtype, TFLOP/s that it can do at most; only where points count operations
     "date": "2026-11-30",              the day, UTC
     "versions": {"torch": "2.11.0"},   of all that took part, by name
     "method": "…",                     how it was measured, in words
     "points": [{"provider": "ours", "dtype": "float32", "m": 4096, "n": 1024, "how": "cold",
                 "ms": 0.0131, "low": 0.0130, "high": 0.0132}],
     "left_out": [{"provider": "liger", "dtype": "float32", "m": 4096, "n": 131072, "how": "cold", "reason": "…"}]}

What stands between `dtype` and `how` is the shape of the work, here rows and columns; `shapes.py` has all of them. `ms`, `low`
and `high` are the median and the 20 % and 80 % quantiles of one call's milliseconds. `how` they were taken is explained with
`How`. `left_out` names what could not be measured, with the reason.

Not here: measuring (`bench.py`), and drawing (`figures/speed.py`). Imports neither torch nor Triton.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import MISSING, asdict, astuple, dataclass, field, fields
from datetime import date
from pathlib import Path
from typing import Any, Literal, get_args

from course_lib.errors import PlainError
from course_lib.shapes import SHAPES, Shape

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


def tflops(flops: float, ms: float) -> float:
    """Operations in TFLOP/s (10¹² a second): those that a call must do at least, over the milliseconds that it took.

    >>> tflops(2 * 4096**3, 0.2)
    687.19476736
    """
    return flops / ms * 1e-9 if ms else float("inf")


@dataclass(frozen=True)
class Point:
    """One provider's time for work of this shape: median, 20 % and 80 % quantile, in milliseconds."""

    provider: str
    dtype: str
    shape: Shape
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
        """What is moved at least."""
        return self.shape.elements * ITEMSIZE[self.dtype]

    @property
    def gbps(self) -> tuple[float, float, float]:
        """Effective bandwidth in GB/s: of the median, least and most, in the order that triton.testing.perf_report takes."""
        return bandwidth(self.n_bytes, self.ms), bandwidth(self.n_bytes, self.high), bandwidth(self.n_bytes, self.low)

    @property
    def tflops(self) -> tuple[float, float, float]:
        """Operations in TFLOP/s, in the same order; zeros where the shape counts none."""
        return tflops(self.shape.flops, self.ms), tflops(self.shape.flops, self.high), tflops(self.shape.flops, self.low)


@dataclass(frozen=True)
class LeftOut:
    """What could not be measured, and why."""

    provider: str
    dtype: str
    shape: Shape
    how: How
    reason: str

    def __post_init__(self) -> None:
        _check_place(self)
        _check_text(self, "reason")


@dataclass(frozen=True)
class Record:
    """Measurements of one run on one GPU, all of work of one kind.

    `peak` is what its memory can move at most, in GB/s, and `tflops` what it can compute at most with inputs of a dtype.
    """

    device: str
    peak: float
    date: str
    versions: Mapping[str, str]
    method: str
    points: tuple[Point, ...]
    left_out: tuple[LeftOut, ...] = ()
    tflops: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check(self)

    def __repr__(self) -> str:
        return f"<Record of {self.device}, {self.date}: {len(self.points)} points, {len(self.left_out)} left out>"

    @property
    def providers(self) -> tuple[str, ...]:
        """Whoever has a point, in the order of the file."""
        return tuple(dict.fromkeys(point.provider for point in self.points))

    def select(
        self, *, provider: str | None = None, dtype: str | None = None, how: How | None = None, **shape: Any
    ) -> tuple[Point, ...]:
        """The points that have all of these; None takes any. `shape` are sizes by their names, such as `m=4096`.

        They come by growing shape, its last name first: of matrices by columns. Empty if there are none. Raises `RecordError`
        for a name that their shape does not have.
        """
        kind = type(self.points[0].shape)
        if unknown := sorted(name for name in shape if not hasattr(kind, name) and name not in names(kind)):
            raise RecordError(f"a {kind.__name__} has {', '.join(names(kind))}, and no {', '.join(unknown)}")
        wanted = {"provider": provider, "dtype": dtype, "how": how}
        asked = {name: value for name, value in wanted.items() if value is not None}
        found = (
            point
            for point in self.points
            if all(getattr(point, name) == value for name, value in asked.items())
            and all(getattr(point.shape, name) == value for name, value in shape.items())
        )
        return tuple(sorted(found, key=lambda point: astuple(point.shape)[::-1]))

    def point(self, provider: str, *, dtype: str = "float32", how: How = "cold", **shape: Any) -> Point:
        """The one point for this. Raises `RecordError` if it was not measured, with the reason where that is known."""
        found = self.select(provider=provider, dtype=dtype, how=how, **shape)
        asked = f"{provider}, {dtype}, {', '.join(f'{name} = {value}' for name, value in shape.items())}, {how}"
        if len(found) == 1:
            return found[0]
        if found:
            raise RecordError(f"the record of {self.device} has {len(found)} points for {asked}: say more of the shape")
        reasons = [
            one.reason
            for one in self.left_out
            if (one.provider, one.dtype, one.how) == (provider, dtype, how)
            and all(getattr(one.shape, name) == value for name, value in shape.items())
        ]
        why = reasons[0] if reasons else f"it holds {', '.join(self.providers)}; select(…) shows at which sizes"
        raise RecordError(f"the record of {self.device} has no point for {asked}: {why}")

    def share(self, point: Point, of: str = "copy") -> float:
        """A point's speed as a share of another provider's for the same work, timed in the same way and run.

        Raises `RecordError` if that provider has no such point.
        """
        return self.point(of, dtype=point.dtype, how=point.how, **asdict(point.shape)).ms / point.ms


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
    head |= {"tflops": dict(what.tflops)} if what.tflops else {}
    text = json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}")
    lists: dict[str, tuple[Point, ...] | tuple[LeftOut, ...]] = {"points": what.points, "left_out": what.left_out}
    for name, items in lists.items():
        lines = ",".join(f"\n  {json.dumps(_flat(item), ensure_ascii=False)}" for item in items)
        text += f',\n "{name}": [{lines}\n ]'
    part = path.with_name(f"{path.name}.part")
    part.write_text(f"{text}\n}}\n", encoding="utf-8")
    os.replace(part, path)


def names(kind: type) -> list[str]:
    """The names of a dataclass's fields."""
    return [one.name for one in fields(kind)]


def slug(gpu: str) -> str:
    """A GPU's name as files have it: without its vendor, in small letters.

    >>> slug("NVIDIA H200"), slug("NVIDIA GeForce RTX 4090"), slug("Tesla T4")
    ('h200', 'rtx-4090', 't4')
    """
    short = re.sub(r"\b(nvidia|geforce|tesla|amd|instinct)\b", " ", gpu.casefold())
    return re.sub(r"[^a-z0-9]+", "-", short).strip("-")


# --- what a file must be ----------------------------------------------------------------------------------------------


def _flat(item: Point | LeftOut) -> dict[str, Any]:
    """A point as it stands in a file: the numbers of its shape among its own."""
    flat: dict[str, Any] = {}
    for name, value in vars(item).items():
        flat |= asdict(value) if name == "shape" else {name: value}
    return flat


def _all(kind: type, content: Any, name: str) -> tuple[Any, ...]:
    """The objects of a list; `left_out` may be missing."""
    items = content.get(name, [] if name == "left_out" else None) if isinstance(content, dict) else None
    if not isinstance(items, list):
        raise RecordError(f"it is an object with a list called {name!r}")
    return tuple(_placed(kind, item, f"{name}[{number}]: ") for number, item in enumerate(items))


def _placed(kind: type, content: Any, where: str) -> Any:
    """A point, or what was left out, with the shape that its other names belong to."""
    own = set(names(kind)) - {"shape"}
    rest = set(content) - own if isinstance(content, dict) else set()
    shapes = [one for one in SHAPES if set(names(one)) == rest]
    if not shapes or not own <= set(content):
        some = " or ".join(", ".join(names(one)) for one in SHAPES)
        raise RecordError(f"{where}it is an object with {', '.join(sorted(own))} and {some}, not {content!r:.200}")
    try:
        shape = shapes[0](**{name: content[name] for name in rest})
    except ValueError as error:
        raise RecordError(f"{where}{error}") from None
    return _made(kind, {name: content[name] for name in own}, where, shape=shape)


def _made(kind: type, content: Any, where: str = "", **ready: Any) -> Any:
    """One object of a dataclass, from a JSON object that has exactly its fields; those with a default may be missing."""
    needed = {one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING}
    if not isinstance(content, dict) or not needed <= {*content, *ready} <= set(names(kind)):
        raise RecordError(f"{where}it is an object with {', '.join(names(kind))}, not {content!r:.200}")
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
    if not isinstance(what.tflops, Mapping) or not all(_is_positive(rate) for rate in what.tflops.values()):
        raise RecordError(f"tflops are an object of positive numbers of TFLOP/s, not {what.tflops!r}")
    if not what.points:
        raise RecordError("there are no points")
    if len({type(point.shape) for point in what.points} | {type(one.shape) for one in what.left_out}) > 1:
        raise RecordError("there are shapes of two kinds: each has a record of its own")
    seen = set()
    for point in what.points:
        key = (point.provider, point.dtype, point.shape, point.how)
        if key in seen:
            raise RecordError(f"there are two points for {point}")
        seen.add(key)
        _refuse_the_impossible(point, what)


def _refuse_the_impossible(point: Point, what: Record) -> None:
    """Raise `RecordError` if a point's faster time would need a faster memory, or faster units, than the device has."""
    if point.how == "cold" and point.gbps[2] > what.peak:
        raise RecordError(f"{point} would be {point.gbps[2]:.0f} GB/s, and {what.device} moves {what.peak:.0f} at most")
    if not point.shape.flops:
        return
    if point.dtype not in what.tflops:
        raise RecordError(f"tflops has no peak for {point.dtype}, and without it nothing about {point} can be refused")
    most = what.tflops[point.dtype]
    if point.how != "host" and point.tflops[2] > most:
        raise RecordError(f"{point} would be {point.tflops[2]:.0f} TFLOP/s, and {what.device} does {most:.0f} at most")


def _check_place(what: Point | LeftOut) -> None:
    """Raise `RecordError` if there can be no such work, or no such way to time it."""
    _check_text(what, "provider")
    if what.dtype not in ITEMSIZE:
        raise RecordError(f"dtype is one of {', '.join(ITEMSIZE)}, not {what.dtype!r}")
    if what.how not in get_args(How):
        raise RecordError(f"how is one of {', '.join(get_args(How))}, not {what.how!r}")
    if not isinstance(what.shape, SHAPES):
        raise RecordError(f"shape is one of {', '.join(kind.__name__ for kind in SHAPES)}, not {what.shape!r}")


def _check_text(what: object, *names: str) -> None:
    for name in names:
        value = getattr(what, name)
        if not isinstance(value, str) or not value.strip():
            raise RecordError(f"{name} is text, not {value!r}")


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")
