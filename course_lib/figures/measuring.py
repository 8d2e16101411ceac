"""Pictures of measuring: host and GPU on one time axis, many readings of one call, and figures over a size with their spread.

Drawn from values that were measured or computed; nothing is measured here.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullLocator

from course_lib.figures.canvas import ALARM, FAINT, INK, PAPER, Canvas, Picture, counted, programs_colour
from course_lib.machine.launches import Timeline

LINES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#1a1a1a", "#56b4e9", "#8c6d31", "#7f7f7f")
"""Okabe and Ito's palette for lines, without the vermilion that is kept for what is wrong."""
MARKERS = "osD^vPXh"
_BAR = 29.0
_LABEL = 4.0
_FAR = 8
"""From which ratio of the longest to the shortest reading on an axis is logarithmic."""
_LINE = 0.052
"""The height of a line's name, as a share of the axes."""

Reading = tuple[float, float, float, float]
"""A size, the figure for it, and the lower and upper end of its spread."""


def draw_timeline(timeline: Timeline) -> Picture:
    """What the host and the GPU do in the course of time, and what the host's clock measures of it."""
    end = max(timeline.stopped, timeline.kernels[-1][1])
    scale = _BAR / end
    calls = len(timeline.kernels)
    canvas = Canvas(_LABEL + _BAR + 1, 6.6)
    kernel = timeline.kernels[0][1] - timeline.kernels[0][0]
    shown = f"clock: {timeline.stopped:g} µs for {counted(calls, 'call')}, {timeline.by_the_host:.4g} µs each"
    words = f"{shown}; a kernel takes {kernel:g} µs"
    canvas.text(0, 0.2, words, bold=True)
    for y, name, spans in ((2.6, "host", timeline.launches), (4.4, "GPU", timeline.kernels)):
        canvas.text(0, y + 0.6, name, size=10)
        for number, (begin, stop) in enumerate(spans):
            width = (stop - begin) * scale
            label = str(number) if width > 0.7 else ""
            canvas.cell(_LABEL + begin * scale, y, label, fill=programs_colour(number), width=width, height=1.2, line=0.5)
        canvas.frame(_LABEL, y, _BAR, 1.2, edge=FAINT, line=0.6)
    stop = _LABEL + timeline.stopped * scale
    canvas.arrow((_LABEL, 1.7), (stop, 1.7), ink=ALARM, line=1.6)
    for x in (_LABEL, stop):
        canvas.axes.plot((x, x), (1.3, 5.8), color=ALARM, lw=1.2, zorder=5)
    canvas.text(0, 1.7, "clock", size=10, ink=ALARM)
    canvas.text(_LABEL, 6.3, "0", size=8, ink=FAINT)
    canvas.text(_LABEL + _BAR, 6.3, f"{end:g} µs", size=8, ink=FAINT, align="right")
    return canvas.finish(f"host and GPU: {words}")


def draw_readings(readings: Mapping[str, Sequence[float]], unit: str = "ms", relative: bool = False) -> Picture:
    """Every reading of several series as a dot, with median, 20 % and 80 % quantile and mean.

    With `relative`, as multiples of each series' median, so that their spreads can be compared. The axis is logarithmic if the
    readings reach far. Raises `ValueError` for a series of fewer than two readings, or one that is not above 0.

    >>> draw_readings({"copy": [1.0, 1.0, 1.0, 2.0, 20.0]})
    <Picture: copy: 5 readings, median 1 ms, mean 5 ms>
    """
    if any(len(values) < 2 or min(values) <= 0 for values in readings.values()):
        raise ValueError("a series needs at least two readings, all above 0")
    figure = Picture(figsize=(7.4, 0.9 + 0.95 * len(readings)), facecolor=PAPER)
    axes = figure.add_axes((0.02, 0.52 / figure.get_figheight(), 0.96, 1 - 0.6 / figure.get_figheight()))
    told = []
    reach = 1.0
    for row, (name, series) in enumerate(readings.items()):
        median, average = statistics.median(series), statistics.fmean(series)
        words = f"{name}: {counted(len(series), 'reading')}, median {median:.3g} {unit}, mean {average:.3g} {unit}"
        values = [value / median for value in series] if relative else series
        low, *_, high = statistics.quantiles(values, n=5, method="inclusive")
        reach = max(reach, max(values) / min(values))
        heights = [row + 0.22 * ((place * 0.618) % 1 - 0.5) for place in range(len(values))]
        axes.fill_betweenx((row - 0.2, row + 0.2), low, high, color="#cfe3f1", lw=0, zorder=1)
        axes.plot(values, heights, "o", ms=3, color=LINES[0], alpha=0.6, mew=0, zorder=2)
        axes.plot([statistics.median(values)] * 2, (row - 0.27, row + 0.27), color=INK, lw=2, zorder=3)
        axes.plot(statistics.fmean(values), row, "x", ms=8, mew=2, color=ALARM, zorder=4)
        told.append(words)
        axes.text(0.005, row - 0.36, words, transform=axes.get_yaxis_transform(), fontsize=8.5, va="center")
    axes.set(ylim=(len(readings) - 0.6, -0.62), yticks=[])
    if reach > _FAR:
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(FuncFormatter(_plain_minor))
    axes.xaxis.set_major_formatter(FuncFormatter(_plain))
    axes.tick_params(labelsize=8, which="both")
    across = "reading ÷ median" if relative else unit
    axes.set_xlabel(f"{across} (black: median, blue band: 20 % to 80 %, cross: mean)", fontsize=9)
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.alt = "; ".join(told)
    return figure


def _plain(value: float, _place: int | None = None) -> str:
    return f"{value:g}"


def _plain_minor(value: float, _place: int | None = None) -> str:
    """Labels for 2 and 5 between the powers of ten."""
    return f"{value:g}" if f"{value:e}"[0] in "25" else ""


def draw_lines(
    lines: Mapping[str, Sequence[Reading]],
    *,
    machine: str,
    ylabel: str,
    xlabel: str = "N (columns)",
    limits: Mapping[str, float] | None = None,
) -> Picture:
    """What was measured over a size, one line each with its spread as a band; `machine` says where, and stands in the picture.

    `limits` are horizontal lines with their names, such as the memory's peak. For records of softmaxes there is
    `draw_bandwidth`. Raises `ValueError` if there is nothing to draw.

    >>> draw_lines({"copy": [(256, 10, 9, 11), (512, 20, 19, 21)]}, machine="H200", ylabel="GB/s")
    <Picture: GB/s on H200: copy 10 to 20>
    """
    if not lines or not all(lines.values()):
        raise ValueError("there is nothing to draw, or a line without a point")
    figure = Picture(figsize=(7.4, 4.2), facecolor=PAPER)
    axes = figure.add_axes((0.1, 0.12, 0.66, 0.8))
    told = []
    for number, (name, readings) in enumerate(lines.items()):
        sizes, values, low, high = (list(column) for column in zip(*sorted(readings), strict=True))
        colour = LINES[number % len(LINES)]
        axes.fill_between(sizes, low, high, color=colour, alpha=0.18, lw=0)
        axes.plot(sizes, values, marker=MARKERS[number % len(MARKERS)], ms=4.5, lw=1.6, color=colour)
        told.append(f"{name} {min(values):.3g} to {max(values):.3g}")
    for name, value in (limits or {}).items():
        axes.axhline(value, color=ALARM, lw=1.2, ls="--", zorder=0)
        told.append(f"{name} {value:.3g}")
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter(FuncFormatter(_plain))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(labelsize=8, which="both")
    axes.set_xlabel(xlabel, fontsize=9)
    axes.set_ylabel(ylabel, fontsize=9)
    axes.grid(True, which="major", color="#e4e4e4", lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"measured on {machine}", fontsize=9, color=FAINT, loc="left")
    _label_ends(axes, lines, limits or {})
    figure.alt = f"{ylabel} on {machine}: {'; '.join(told)}"
    return figure


def _label_ends(axes: Axes, lines: Mapping[str, Sequence[Reading]], limits: Mapping[str, float]) -> None:
    """Write each name at the end of its line, moved apart where they would cover each other."""
    ends = [(max(readings)[1], name, LINES[number % len(LINES)]) for number, (name, readings) in enumerate(lines.items())]
    ends += [(value, name, ALARM) for name, value in limits.items()]
    ends.sort()
    places: list[float] = []
    for value, _, _ in ends:
        height = float(axes.transAxes.inverted().transform(axes.transData.transform((1, value)))[1])
        places.append(max(height, places[-1] + _LINE if places else 0.0))
    over = max(0.0, places[-1] - 1)
    for place, (_, name, colour) in zip(places, ends, strict=True):
        axes.text(1.015, place - over, name, transform=axes.transAxes, color=colour, fontsize=8.5, va="center")
