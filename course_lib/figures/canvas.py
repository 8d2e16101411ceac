"""The paper that every picture of cells is drawn on: one coordinate system, one palette, one way to be shown.

A canvas counts in cells: one unit is the side of a cell, x runs to the right and y downwards. It doesn't know what a
picture means, and it lays nothing out by itself: each drawing says where its cells and words stand.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from typing import Any, Literal

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle
from PIL import Image

INK = "#1a1a1a"
FAINT = "#6b6b6b"
PAPER = "#ffffff"
IDLE = "#ececec"
HATCH = "#b4b4b4"
ALARM = "#d55e00"
SHARED = "#f9dccb"
PROGRAM_COLOURS = ("#56b4e9", "#f2b134", "#7fcdb0", "#e3a6c8", "#f5ec84", "#9fb6e0", "#d9c3a5", "#c6c6c6")
"""Okabe and Ito's palette, lightened so that black numbers stand out; its vermilion is kept for what is wrong.
Source: https://jfly.uni-koeln.de/color/. Every cell carries its number as well, so no meaning rests on colour alone."""

COLOURS = 64
"""A stored picture needs no more: few flat colours and their blends with ink. It makes files a quarter the size."""

DPI = 192
SHOWN_DPI = 96
UNIT = 0.36
WIDEST = 9.0
NARROWEST = 6.6

Align = Literal["left", "center", "right"]


class Picture(Figure):
    """A matplotlib figure that notebooks show as it is, with words for those who cannot see it.

    A plain `Figure` is shown only after pyplot has set up its inline backend; this one brings its own PNG, drawn at
    twice the shown size, and puts `alt` beside it. It isn't registered with pyplot, so it's never shown twice.
    """

    alt: str = "a figure"

    def __repr__(self) -> str:
        return f"<Picture: {self.alt}>"

    def png(self) -> bytes:
        """The picture as the bytes of a PNG file, the same bytes every time."""
        if not isinstance(self.canvas, FigureCanvasAgg):
            FigureCanvasAgg(self)
        drawn, small = io.BytesIO(), io.BytesIO()
        self.savefig(drawn, format="png", dpi=DPI, facecolor=PAPER)
        with Image.open(drawn) as image:
            flat = image.convert("RGB").quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        flat.save(small, format="png", optimize=True)
        return small.getvalue()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, str], dict[str, Any]]:
        width, height = (round(inches * SHOWN_DPI) for inches in self.get_size_inches())
        data = {"text/plain": repr(self), "image/png": base64.b64encode(self.png()).decode("ascii")}
        return data, {"image/png": {"alt": self.alt, "width": width, "height": height}}

    def _ipython_display_(self) -> None:
        """Show the bundle as it is; pyplot's inline backend, once set up, would cut each figure to another size."""
        from IPython.display import display

        data, metadata = self._repr_mimebundle_()
        display(data, metadata=metadata, raw=True)


def programs_colour(index: int) -> str:
    """The colour of the program that comes `index`-th in the grid; colours repeat, so write its number too."""
    return PROGRAM_COLOURS[index % len(PROGRAM_COLOURS)]


def ink_on(fill: str) -> str:
    """Black or white, whichever can be read on `fill`."""
    red, green, blue = to_rgb(fill)
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else PAPER


def counted(number: int, thing: str) -> str:
    """A number and its thing, in the plural where that's due.

    >>> counted(1, "lane"), counted(2, "lane")
    ('1 lane', '2 lanes')
    """
    return f"{number} {thing}" + "s" * (number != 1)


class Canvas:
    """Cells, words and arrows on one sheet of `columns` × `rows` cells.

    >>> canvas = Canvas(4, 2)
    >>> canvas.cell(0, 0.5, "7", fill=programs_colour(0))
    >>> canvas.finish("one cell with a 7 in it")
    <Picture: one cell with a 7 in it>
    """

    def __init__(self, columns: float, rows: float, unit: float | None = None, narrowest: float = NARROWEST) -> None:
        margin = 0.5
        self.unit = unit or min(UNIT, WIDEST / (columns + 2 * margin))
        width = max(narrowest, (columns + 2 * margin) * self.unit)
        height = (rows + 2 * margin) * self.unit
        self.figure = Picture(figsize=(width, height), facecolor=PAPER)
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_xlim(-margin, width / self.unit - margin)
        self.axes.set_ylim(rows + margin, -margin)
        self.axes.set_axis_off()
        self.width = width / self.unit - 2 * margin

    @property
    def small(self) -> float:
        """The size of a number in a cell, in points."""
        return max(4.5, min(9.0, 26 * self.unit))

    def cell(
        self,
        x: float,
        y: float,
        text: str = "",
        *,
        fill: str = PAPER,
        width: float = 1.0,
        height: float = 1.0,
        edge: str = "#555555",
        line: float = 0.7,
        dashed: bool = False,
        hatch: str | None = None,
        bold: bool = False,
        size: float | None = None,
    ) -> None:
        """A box whose upper left corner is (x, y), with words in its middle."""
        style = (0, (2, 2)) if dashed else "-"
        box = Rectangle((x, y), width, height, facecolor=fill, edgecolor=edge, linewidth=line, linestyle=style)
        if hatch:
            lines = Rectangle((x, y), width, height, facecolor=fill, edgecolor=HATCH, linewidth=0, hatch=hatch)
            box.set_fill(False)
            self.axes.add_patch(lines)
        self.axes.add_patch(box)
        if text:
            middle = (x + width / 2, y + height / 2)
            self.text(*middle, text, align="center", bold=bold, size=size or self.small, ink=ink_on(fill))

    def frame(self, x: float, y: float, width: float, height: float, *, edge: str = INK, line: float = 2.0) -> None:
        """An outline around several cells."""
        self.axes.add_patch(
            Rectangle((x, y), width, height, fill=False, edgecolor=edge, linewidth=line, joinstyle="miter", zorder=3)
        )

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        align: Align = "left",
        size: float = 9.5,
        bold: bool = False,
        ink: str = INK,
        backed: str | None = None,
        mono: bool = False,
    ) -> None:
        """Words whose middle line is at y; `backed` is a colour that keeps lines behind them away, `mono` is for code."""
        self.axes.text(
            x,
            y,
            words,
            ha=align,
            va="center_baseline" if "\n" not in words else "center",
            fontsize=size,
            fontweight="bold" if bold else "normal",
            color=ink,
            family="DejaVu Sans Mono" if mono else "DejaVu Sans",
            bbox={"facecolor": backed, "linewidth": 0, "pad": 1.5} if backed else None,
            zorder=4,
        )

    def arrow(self, start: tuple[float, float], end: tuple[float, float], *, ink: str = FAINT, line: float = 1.0) -> None:
        """A straight arrow from `start` to `end`."""
        self.axes.add_patch(
            FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=9, color=ink, linewidth=line, shrinkA=0, shrinkB=0)
        )

    def line(self, xs: Iterable[float], ys: Iterable[float], *, ink: str = FAINT, line: float = 1.0) -> None:
        """A line through points."""
        self.axes.plot(list(xs), list(ys), color=ink, linewidth=line, solid_capstyle="butt")

    def finish(self, alt: str) -> Picture:
        """The picture, with a sentence that says what it shows."""
        self.figure.alt = alt
        return self.figure
