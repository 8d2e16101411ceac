"""Lines of recorded measurements over a size: bandwidth, the share of the copy, operations, and plain time.

Every figure names the machine and the day. A provider has the same colour and mark in all of them. Grey are the sizes that fit
in the L2 cache: with a cold cache they are read from memory all the same, but what is written may stay in the cache.

`over` is the size that grows to the right: a name of the points' shape, such as "n", "side" or "seqlen". `shape` are the others
that hold for all that is drawn, such as `m=4096`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from course_lib.figures.canvas import FAINT, IDLE, INK, PAPER, Picture
from course_lib.machine.specs import MIB, find_gpu
from course_lib.records import WAYS, How, LeftOut, Point, Record

STYLES: dict[str, tuple[str, str, str]] = {
    "ours": ("#0072b2", "-", "o"),
    "persistent": ("#56b4e9", "-", "s"),
    "pointers": ("#56b4e9", "-", "s"),
    "row by row": ("#cc79a7", "-.", "^"),
    "liger": ("#cc79a7", "-", "^"),
    "quack": ("#7e57a6", "-", "v"),
    "torch.compile": ("#009e73", "--", "D"),
    "torch": ("#e69f00", "--", "P"),
    "naive": ("#8a8a8a", "--", "X"),
    "copy": (INK, ":", ""),
}
"""Colour, line and mark; Okabe and Ito's palette (https://jfly.uni-koeln.de/color/), without its vermilion, and a violet."""
OTHER = ("#5c4b3a", "-.", "*")


NOUNS: Mapping[str, str] = {
    "m": "rows",
    "n": "columns",
    "side": "rows and columns of all three matrices",
    "batch": "sequences",
    "heads": "heads",
    "seqlen": "positions",
    "head_dim": "features",
}
"""What figures call a size, by its name."""
SYMBOLS: Mapping[str, str] = {"n": " (N)", "side": " (M = N = K)"}

Value = Callable[[Point], tuple[float, float, float]]
"""What is drawn of a point: its middle, least and most."""


def draw_bandwidth(
    record: Record, *, over: str = "n", dtype: str = "float32", how: How = "cold", only: Sequence[str] = (), **shape: Any
) -> Picture:
    """Effective bandwidth in GB/s over the columns, a line a provider, with the band from the 20 % to the 80 % quantile.

    The form of Triton's own softmax tutorial. `only` names the providers to draw; without it, all. Raises `ValueError` if
    the record has no such points, or several for one place, and for how="host", which times no transfer.
    """
    if how == "host":
        raise ValueError('how="host" times Python, and not what is moved: draw_times shows it')
    sheet = _sheet(record, over, dtype, how, only, shape)
    near = how == "cold" and record.peak < 2 * max(point.gbps[2] for point in sheet.points)
    sheet.draw(lambda point: point.gbps, lambda value: f"{value:.0f}", at_least=record.peak if near else 0)
    if near:
        sheet.limit(record.peak, f"the memory's peak, {record.peak:.0f} GB/s")
    sheet.axes.set_ylabel("effective bandwidth (GB/s)", fontsize=9)
    return sheet.finish("effective bandwidth in GB/s", lambda point: f"{point.gbps[0]:.0f}")


def draw_tflops(
    record: Record, *, over: str, dtype: str = "float16", how: How = "cold", only: Sequence[str] = (), **shape: Any
) -> Picture:
    """Operations in TFLOP/s, beside what the units do at most. Arguments and errors as `draw_bandwidth`.

    Raises `KeyError` if the record's kind of work counts no operations.
    """
    if how == "host":
        raise ValueError('how="host" times Python, and not what is computed: draw_times shows it')
    sheet = _sheet(record, over, dtype, how, only, shape)
    peak = record.tflops[dtype]
    sheet.draw(lambda point: point.tflops, lambda value: f"{value:.0f}", at_least=peak)
    sheet.limit(peak, f"the units' peak, {peak:.0f} TFLOP/s")
    sheet.axes.set_ylabel("TFLOP/s", fontsize=9)
    return sheet.finish("operations in TFLOP/s", lambda point: f"{point.tflops[0]:.0f}")


def draw_share(
    record: Record, *, over: str = "n", dtype: str = "float32", how: How = "cold", only: Sequence[str] = (), **shape: Any
) -> Picture:
    """Speed as a share of a plain copy of the same matrix, timed in the same run. Arguments and errors as `draw_bandwidth`.

    Raises `RecordError` where the copy was not timed.
    """
    sheet = _sheet(record, over, dtype, how, only, shape, but=("copy",))

    def share(point: Point) -> tuple[float, float, float]:
        middle = record.share(point)
        return middle, middle * point.ms / point.high, middle * point.ms / point.low

    sheet.draw(share, lambda value: f"{value:.0%}", at_least=1)
    sheet.axes.axhline(1, color=INK, lw=1.2, ls=":")
    sheet.axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    sheet.axes.set_ylabel("speed, as a share of the copy's", fontsize=9)
    return sheet.finish("speed as a share of the copy's", lambda point: f"{record.share(point):.0%}")


def draw_times(
    record: Record, *, over: str = "n", dtype: str = "float32", how: How = "host", only: Sequence[str] = (), **shape: Any
) -> Picture:
    """Microseconds of one call over the columns. Arguments and errors as `draw_bandwidth`."""
    sheet = _sheet(record, over, dtype, how, only, shape)
    sheet.draw(lambda point: (point.ms * 1e3, point.low * 1e3, point.high * 1e3), lambda value: f"{value:.3g}")
    sheet.axes.set_ylabel("µs for one call", fontsize=9)
    return sheet.finish("µs for one call", lambda point: f"{point.ms * 1e3:.3g}")


@dataclass(frozen=True)
class _Sheet:
    """A figure in the making: what is drawn over which size, and what holds for all of it."""

    record: Record
    points: Sequence[Point]
    over: str
    about: str
    shape: Mapping[str, Any]
    figure: Picture
    axes: Axes

    def place(self, one: Point | LeftOut) -> int:
        return getattr(one.shape, self.over)

    def draw(self, value: Value, shown: Callable[[float], str], at_least: float = 0) -> None:
        """A line and a band for each provider, named at its right end."""
        ends: list[tuple[float, str, str]] = []
        points = self.points
        for provider in sorted({point.provider for point in points}, key=[*STYLES, *(p.provider for p in points)].index):
            colour, style, mark = STYLES.get(provider, OTHER)
            own = [point for point in points if point.provider == provider]
            middles, least, most = zip(*map(value, own), strict=True)
            places = [self.place(point) for point in own]
            self.axes.fill_between(places, least, most, color=colour, alpha=0.2, lw=0)
            self.axes.plot(places, middles, color=colour, ls=style, marker=mark, ms=4, lw=2.2 if provider == "ours" else 1.4)
            ends.append((middles[-1], provider, colour))
        self.axes.set_ylim(0, 1.05 * max(at_least, *(most for point in points for most in value(point))))
        _name_lines(self.axes, ends, shown)

    def limit(self, height: float, words: str) -> None:
        """A line that nothing may cross, with its name."""
        self.axes.axhline(height, color=FAINT, lw=0.8)
        self.axes.text(
            0, height, f" {words}", transform=self.axes.get_yaxis_transform(), fontsize=7.5, color=FAINT, va="bottom"
        )

    def shade_what_fits_in_the_cache(self) -> None:
        """Mark the sizes whose results may stay in the L2 cache: their figures are not the memory's alone."""
        try:
            l2 = find_gpu(self.record.device).l2
        except ValueError:  # nobody has told how large its cache is
            return
        first, last = self.points[0], self.points[-1]
        if first.n_bytes > l2:
            return
        widest = l2 * self.place(first) // first.n_bytes
        self.axes.axvspan(self.place(first) / 2, min(widest, 2 * self.place(last)), color=IDLE, lw=0, zorder=0)
        self.axes.set_xlim(self.place(first) / 1.4, self.place(last) * 1.4)
        words = f" fits in the L2 cache, {l2 // MIB} MiB"
        self.axes.text(0, 0.02, words, transform=self.axes.transAxes, fontsize=7.5, color=FAINT)

    def finish(self, what: str, told: Callable[[Point], str]) -> Picture:
        """The figure with its x axis, what is missing, and its words."""
        noun = NOUNS.get(self.over, self.over)
        places = sorted({self.place(point) for point in self.points})
        powers = [place for place in (2**power for power in range(32)) if places[0] <= place <= places[-1]]
        self.axes.set_xticks(powers, [str(power) for power in powers], fontsize=8, rotation=45 if len(powers) > 8 else 0)
        self.axes.minorticks_off()
        self.axes.set_xlabel(f"{noun}{SYMBOLS.get(self.over, '')}", fontsize=9)
        self.axes.tick_params(axis="y", labelsize=8)
        self.axes.grid(True, which="major", color="#e4e4e4", lw=0.6)
        self.axes.spines[["top", "right"]].set_visible(False)
        if gone := self.missing():
            words = "; ".join(f"{name} at {', '.join(map(str, sorted(places)))}" for name, places in gone.items())
            self.figure.text(0.01, 0.01, f"not measured: {words}", fontsize=7.5, color=FAINT)
        largest = [point for point in self.points if self.place(point) == places[-1]]
        numbers = ", ".join(f"{point.provider} {told(point)}" for point in largest)
        self.figure.alt = (
            f"{what} over {places[0]} to {places[-1]} {noun}, {self.about}, "
            f"on {self.record.device}; at {places[-1]} {noun}: {numbers}"
        )
        return self.figure

    def missing(self) -> dict[str, list[int]]:
        """Where those who are drawn could not be measured, by provider."""
        first = self.points[0]
        shown = {point.provider for point in self.points}
        gone: dict[str, list[int]] = {}
        for one in self.record.left_out:
            alike = all(getattr(one.shape, name) == value for name, value in self.shape.items())
            if alike and (one.dtype, one.how) == (first.dtype, first.how) and one.provider in shown and self.place(one):
                gone.setdefault(one.provider, []).append(self.place(one))
        return gone


def _sheet(
    record: Record,
    over: str,
    dtype: str,
    how: How,
    only: Sequence[str],
    shape: Mapping[str, Any],
    but: Sequence[str] = (),
) -> _Sheet:
    """An empty figure with a title, and the points that are to be drawn in it, without those of whom `but` names."""
    found = [point for point in record.select(dtype=dtype, how=how, **shape) if not only or point.provider in only]
    points = [point for point in found if getattr(point.shape, over) is not None]
    about = ", ".join([*(_said(name, value) for name, value in shape.items()), dtype, WAYS[how]])
    missing = sorted(set(only) - {point.provider for point in points})
    if missing or not points:
        raise ValueError(f"{record} has no points of {', '.join(missing) or 'anybody'} for {about}")
    places = [(point.provider, getattr(point.shape, over)) for point in points]
    if len(set(places)) < len(places):
        raise ValueError(f"{record} has several points for one {over} with {about}: say more of the shape")
    figure = Picture(figsize=(7.4, 4.6), facecolor=PAPER)
    axes = figure.add_axes((0.09, 0.2, 0.73, 0.72))
    axes.set_title(f"{record.device}, {record.date}: {about}", fontsize=10, loc="left", color=INK)
    axes.set_xscale("log", base=2)
    drawn = sorted((point for point in points if point.provider not in but), key=lambda point: getattr(point.shape, over))
    sheet = _Sheet(record, drawn, over, about, shape, figure, axes)
    if how == "cold" and not points[0].shape.flops:
        sheet.shade_what_fits_in_the_cache()
    return sheet


def _said(name: str, value: object) -> str:
    """What holds for all that is drawn, in words.

    >>> _said("m", 4096), _said("causal", False), _said("direction", "backward")
    ('4096 rows', 'not causal', 'backward')
    """
    if isinstance(value, bool):
        return name if value else f"not {name}"
    return f"{value} {NOUNS.get(name, name)}" if isinstance(value, int) else str(value)


def _name_lines(axes: Axes, ends: Sequence[tuple[float, str, str]], shown: Callable[[float], str]) -> None:
    """Each line's name and last value, right of the axes at its height, moved apart where they would overlap."""
    top = axes.get_ylim()[1]
    step = 0.055
    heights: list[float] = []
    for end, _, _ in sorted(ends):
        heights.append(max(end / top, heights[-1] + step if heights else 0.0))
    over = max(0.0, heights[-1] - 1)
    for height, (end, name, colour) in zip(heights, sorted(ends), strict=True):
        axes.text(
            1.02, height - over, f"{name}  {shown(end)}", transform=axes.transAxes, color=colour, fontsize=8.5, va="center"
        )
