"""Lines of recorded measurements over the number of columns: bandwidth, the share of the copy, and plain time.

Every figure names the machine and the day. A provider has the same colour and mark in all of them. Grey are the sizes that fit
in the L2 cache: with a cold cache they are read from memory all the same, but what is written may stay in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes

from course_lib.figures.canvas import FAINT, IDLE, INK, PAPER, Picture
from course_lib.machine.specs import MIB, find_gpu
from course_lib.records import WAYS, How, Point, Record

STYLES: dict[str, tuple[str, str, str]] = {
    "ours": ("#0072b2", "-", "o"),
    "persistent": ("#56b4e9", "-", "s"),
    "liger": ("#cc79a7", "-", "^"),
    "quack": ("#7e57a6", "-", "v"),
    "torch.compile": ("#009e73", "--", "D"),
    "torch": ("#e69f00", "--", "P"),
    "naive": ("#8a8a8a", "--", "X"),
    "copy": (INK, ":", ""),
}
"""Colour, line and mark; Okabe and Ito's palette (https://jfly.uni-koeln.de/color/), without its vermilion, and a violet."""
OTHER = ("#5c4b3a", "-.", "*")


def draw_bandwidth(record: Record, *, m: int, dtype: str = "float32", how: How = "cold", only: Sequence[str] = ()) -> Picture:
    """Effective bandwidth in GB/s over the columns, a line a provider, with the band from the 20 % to the 80 % quantile.

    The form of Triton's own softmax tutorial. `only` names the providers to draw; without it, all. Raises `ValueError` if
    the record has no such points, and for how="host", which times no transfer.
    """
    if how == "host":
        raise ValueError('how="host" times Python, and not what is moved: draw_times shows it')
    figure, axes, points = _sheet(record, m, dtype, how, only)
    near = how == "cold" and record.peak < 2 * max(point.gbps[2] for point in points)
    _draw(axes, points, lambda point: point.gbps, lambda value: f"{value:.0f}", at_least=record.peak if near else 0)
    if near:
        axes.axhline(record.peak, color=FAINT, lw=0.8)
        words = f" the memory's peak, {record.peak:.0f} GB/s"
        axes.text(0, record.peak, words, transform=axes.get_yaxis_transform(), fontsize=7.5, color=FAINT, va="bottom")
    axes.set_ylabel("effective bandwidth (GB/s)", fontsize=9)
    return _finish(figure, axes, record, points, "effective bandwidth in GB/s", lambda point: f"{point.gbps[0]:.0f}")


def draw_share(record: Record, *, m: int, dtype: str = "float32", how: How = "cold", only: Sequence[str] = ()) -> Picture:
    """Speed as a share of a plain copy of the same matrix, timed in the same run. Arguments and errors as `draw_bandwidth`.

    Raises `RecordError` where the copy was not timed.
    """
    figure, axes, points = _sheet(record, m, dtype, how, only)
    points = [point for point in points if point.provider != "copy"]

    def share(point: Point) -> tuple[float, float, float]:
        middle = record.share(point)
        return middle, middle * point.ms / point.high, middle * point.ms / point.low

    _draw(axes, points, share, lambda value: f"{value:.0%}", at_least=1)
    axes.axhline(1, color=INK, lw=1.2, ls=":")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_ylabel("speed, as a share of the copy's", fontsize=9)
    return _finish(figure, axes, record, points, "speed as a share of the copy's", lambda point: f"{record.share(point):.0%}")


def draw_times(record: Record, *, m: int, dtype: str = "float32", how: How = "host", only: Sequence[str] = ()) -> Picture:
    """Microseconds of one call over the columns. Arguments and errors as `draw_bandwidth`."""
    figure, axes, points = _sheet(record, m, dtype, how, only)
    _draw(axes, points, lambda point: (point.ms * 1e3, point.low * 1e3, point.high * 1e3), lambda value: f"{value:.3g}")
    axes.set_ylabel("µs for one call", fontsize=9)
    return _finish(figure, axes, record, points, "µs for one call", lambda point: f"{point.ms * 1e3:.3g}")


def _sheet(record: Record, m: int, dtype: str, how: How, only: Sequence[str]) -> tuple[Picture, Axes, list[Point]]:
    """An empty figure with a title, and the points that are to be drawn in it."""
    points = [point for point in record.select(m=m, dtype=dtype, how=how) if not only or point.provider in only]
    missing = sorted(set(only) - {point.provider for point in points})
    if missing or not points:
        raise ValueError(f"{record} has no points of {', '.join(missing) or 'anybody'} for {m} rows, {dtype}, {how}")
    figure = Picture(figsize=(7.4, 4.6), facecolor=PAPER)
    axes = figure.add_axes((0.09, 0.2, 0.73, 0.72))
    axes.set_title(f"{record.device}, {record.date}: {m} rows, {dtype}, {WAYS[how]}", fontsize=10, loc="left", color=INK)
    axes.set_xscale("log", base=2)
    if how == "cold":
        _shade_what_fits_in_the_cache(axes, record, points)
    return figure, axes, points


def _shade_what_fits_in_the_cache(axes: Axes, record: Record, points: Sequence[Point]) -> None:
    """Mark the sizes whose results may stay in the L2 cache: their figures are not the memory's alone."""
    try:
        l2 = find_gpu(record.device).l2
    except ValueError:  # nobody has told how large its cache is
        return
    first, last = points[0], points[-1]
    if first.n_bytes > l2:
        return
    widest = l2 * first.n // first.n_bytes
    axes.axvspan(first.n / 2, min(widest, 2 * last.n), color=IDLE, lw=0, zorder=0)
    axes.set_xlim(first.n / 1.4, last.n * 1.4)
    words = f" fits in the L2 cache, {l2 // MIB} MiB"
    axes.text(0, 0.02, words, transform=axes.transAxes, fontsize=7.5, color=FAINT)


def _draw(
    axes: Axes,
    points: Sequence[Point],
    value: Callable[[Point], tuple[float, float, float]],
    shown: Callable[[float], str],
    at_least: float = 0,
) -> None:
    """A line and a band for each provider, named at its right end."""
    ends: list[tuple[float, str, str]] = []
    for provider in sorted({point.provider for point in points}, key=[*STYLES, *(p.provider for p in points)].index):
        colour, style, mark = STYLES.get(provider, OTHER)
        own = [point for point in points if point.provider == provider]
        middles, least, most = zip(*map(value, own), strict=True)
        columns = [point.n for point in own]
        axes.fill_between(columns, least, most, color=colour, alpha=0.2, lw=0)
        axes.plot(columns, middles, color=colour, ls=style, marker=mark, ms=4, lw=2.2 if provider == "ours" else 1.4)
        ends.append((middles[-1], provider, colour))
    axes.set_ylim(0, 1.05 * max(at_least, *(most for point in points for most in value(point))))
    _name_lines(axes, ends, shown)


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


def _finish(
    figure: Picture, axes: Axes, record: Record, points: Sequence[Point], what: str, told: Callable[[Point], str]
) -> Picture:
    """The figure with its x axis, what is missing, and its words."""
    first = points[0]
    widths = sorted({point.n for point in points})
    powers = [width for width in (2**power for power in range(32)) if widths[0] <= width <= widths[-1]]
    axes.set_xticks(powers, [str(power) for power in powers], fontsize=8, rotation=45 if len(powers) > 8 else 0)
    axes.minorticks_off()
    axes.set_xlabel("columns (N)", fontsize=9)
    axes.tick_params(axis="y", labelsize=8)
    axes.grid(True, which="major", color="#e4e4e4", lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    shown = {point.provider for point in points}
    gone: dict[str, list[int]] = {}
    for one in record.left_out:
        if (one.m, one.dtype, one.how) == (first.m, first.dtype, first.how) and one.provider in shown:
            gone.setdefault(one.provider, []).append(one.n)
    if gone:
        words = "; ".join(f"{name} at {', '.join(map(str, sorted(ns)))}" for name, ns in gone.items())
        figure.text(0.01, 0.01, f"not measured: {words}", fontsize=7.5, color=FAINT)
    widest = [point for point in points if point.n == widths[-1]]
    numbers = ", ".join(f"{point.provider} {told(point)}" for point in widest)
    figure.alt = (
        f"{what} over {widths[0]} to {widths[-1]} columns, {first.m} rows, {first.dtype}, {WAYS[first.how]}, "
        f"on {record.device}; at {widths[-1]} columns: {numbers}"
    )
    return figure
