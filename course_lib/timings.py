"""The same calls, timed in right and in wrong ways on a GPU, as recorded for lesson 10 to show: read, never made up.

`benchmarks/wrong_timings.py` writes `course_lib/data/timings_h200.json`:

    {"device": "NVIDIA H200", "date": "2026-11-30", "versions": {"torch": "2.11.0"},
     "ways": {"cold": "…"},                how each way of timing works, in words
     "readings": [{"provider": "ours", "m": 64, "n": 2048, "way": "cold", "ms": 0.0031, "low": 0.003, "high": 0.0032}],
     "series": [{"provider": "ours", "m": 64, "n": 2048, "way": "cold", "ms": [0.0031, 0.003]}]}

`ms`, `low` and `high` are the median and the 20 % and 80 % quantiles of one call's milliseconds, the `ms` of a series all
readings in their order. Matrices are m × n, of fp32. Honest figures, in one form for all GPUs, are in `records.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

DATA = Path(__file__).parent / "data"

PUBLISHED: Mapping[int, tuple[float, float]] = {
    256: (18.285714, 6.736842),
    384: (27.428571, 9.142857),
    512: (42.666665, 12.190476),
    640: (53.333331, 15.238095),
    768: (54.857142, 17.454545),
    896: (63.999999, 18.666666),
    1024: (73.142856, 20.480001),
    1152: (82.285713, 21.735849),
    1280: (106.666663, 24.615385),
    1408: (117.333329, 26.074074),
    1536: (127.999995, 26.482758),
    1664: (104.000000, 28.689654),
    1792: (149.333328, 28.000000),
    1920: (159.999994, 30.967742),
    2048: (146.285712, 30.117647),
}
"""What a tutorial on this softmax published: by the columns of a matrix of 64 rows in fp32, the effective bandwidth in GB/s
of a Triton kernel and of `torch.softmax`, by `do_bench`. It does not name its GPU."""


@dataclass(frozen=True)
class Reading:
    """What one way of timing says of one call: median, 20 % and 80 % quantile, in milliseconds."""

    provider: str
    m: int
    n: int
    way: str
    ms: float
    low: float
    high: float

    @property
    def gbps(self) -> float:
        """The bandwidth that this would be, in GB/s, if each fp32 element were read and written once."""
        return 2 * self.m * self.n * 4 / self.ms * 1e-6


@dataclass(frozen=True)
class Series:
    """All readings of one call in their order, in milliseconds."""

    provider: str
    m: int
    n: int
    way: str
    ms: Sequence[float]


Kind = TypeVar("Kind", Reading, Series)


@dataclass(frozen=True)
class Timings:
    """What was recorded in one run on one GPU. `ways` says in words how each way of timing works."""

    device: str
    date: str
    versions: Mapping[str, str]
    ways: Mapping[str, str]
    readings: tuple[Reading, ...]
    series: tuple[Series, ...]

    def reading(self, provider: str, way: str, *, m: int, n: int) -> Reading:
        """The one reading for this. Raises `LookupError` if there is none."""
        return _one(self.readings, provider, way, m, n)

    def all_readings(self, provider: str, way: str, *, m: int, n: int) -> Sequence[float]:
        """The milliseconds of a series. Raises `LookupError` if there is none."""
        return _one(self.series, provider, way, m, n).ms

    def over_n(self, provider: str, way: str, *, m: int) -> tuple[Reading, ...]:
        """The readings for matrices of m rows, by growing number of columns."""
        found = (one for one in self.readings if (one.provider, one.way, one.m) == (provider, way, m))
        return tuple(sorted(found, key=lambda one: one.n))


def _one(items: tuple[Kind, ...], provider: str, way: str, m: int, n: int) -> Kind:
    for item in items:
        if (item.provider, item.way, item.m, item.n) == (provider, way, m, n):
            return item
    raise LookupError(f"nothing was recorded of {provider}, {way!r}, {m} × {n}")


def timings(gpu: str = "h200") -> Timings:
    """What was recorded on a GPU. Raises `FileNotFoundError` if nothing was."""
    content = json.loads((DATA / f"timings_{gpu}.json").read_text(encoding="utf-8"))
    readings = tuple(Reading(**item) for item in content.pop("readings"))
    series = tuple(Series(**item) for item in content.pop("series"))
    return Timings(**content, readings=readings, series=series)


def save(what: Timings, path: Path) -> None:
    """Write a record, one reading a line."""
    head = {"device": what.device, "date": what.date, "versions": dict(what.versions), "ways": dict(what.ways)}
    text = json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}")
    for name, items in (("readings", what.readings), ("series", what.series)):
        text += f',\n "{name}": [' + ",".join(f"\n  {json.dumps(asdict(item))}" for item in items) + "\n ]"
    path.write_text(f"{text}\n}}\n", encoding="utf-8")
