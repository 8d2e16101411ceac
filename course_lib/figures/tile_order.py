"""Pictures of the order in which programs take the tiles of a product, and of what those that run at once need together."""

from __future__ import annotations

from collections.abc import Mapping

from course_lib.figures.canvas import FAINT, IDLE, INK, PAPER, Canvas, Picture
from course_lib.machine.tile_order import in_groups, rows_and_columns

_EARLY, _LATE = (0x08, 0x45, 0x94), (0xDE, 0xEB, 0xF7)
_OF_A, _OF_B = "#f2b134", "#7fcdb0"


def draw_tile_order(n_rows: int, n_cols: int, group: int = 1, at_once: int = 1) -> Picture:
    """The tiles of a result, each with the number of its program, the earlier the darker.

    The first `at_once` programs are framed. To the left stand the rows of tiles of `a`, above the columns of tiles of `b`;
    those that these programs need are coloured.

    >>> draw_tile_order(6, 6, group=3, at_once=9)
    <Picture: 6 × 6 tiles in groups of 3: the first 9 programs need 3 rows of a and 3 columns of b>
    """
    order = in_groups(n_rows, n_cols, group)
    words = f"in groups of {group}" if group > 1 else "row by row"
    first = order[:at_once]
    down, along = rows_and_columns(first)
    needed = f"the first {len(first)} programs need {down} rows of a and {along} columns of b"
    left, top = 3.0, 3.6
    canvas = Canvas(left + n_cols, top + n_rows)
    canvas.text(0, 0.2, f"{words}: {down} + {along} = {down + along} for {len(first)} programs at once", bold=True)
    canvas.text(left, top - 1.9, "columns of b", size=9, ink=FAINT)
    canvas.text(0.2, top - 0.6, "rows of a", size=9, ink=FAINT)
    rows, columns = {row for row, _ in first}, {column for _, column in first}
    for row in range(n_rows):
        canvas.cell(0.2, top + row, fill=_OF_A if row in rows else IDLE, width=2.2, line=0.5)
    for column in range(n_cols):
        canvas.cell(left + column, top - 1.5, fill=_OF_B if column in columns else IDLE, height=1.1, line=0.5)
    for program, (row, column) in enumerate(order):
        fill = _shade(program / max(1, len(order) - 1))
        canvas.cell(left + column, top + row, str(program), fill=fill, line=0.4, edge=PAPER, size=canvas.small)
    for row, column in first:
        canvas.frame(left + column, top + row, 1, 1, edge="#d55e00", line=1.6)
    return canvas.finish(f"{n_rows} × {n_cols} tiles {words}: {needed}")


def draw_bars(values: Mapping[str, float], what: str, limit: tuple[str, float] | None = None) -> Picture:
    """Bars from left to right, each with its name and its number; `limit` is a line with its name that they are held against.

    >>> draw_bars({"row by row": 3.0, "in groups": 1.5}, "GB")
    <Picture: GB: row by row 3.0, in groups 1.5>
    """
    label, length = 9.0, 22.0
    most = max([*values.values(), *([limit[1]] if limit else [])])
    canvas = Canvas(label + length + 3, 1.2 + 1.4 * len(values) + (1.0 if limit else 0))
    canvas.text(0, 0.1, what, bold=True)
    for number, (name, value) in enumerate(values.items()):
        y = 1.1 + 1.4 * number
        canvas.text(0, y + 0.5, name, size=9.5)
        canvas.cell(label, y, fill="#56b4e9", width=max(0.05, value / most * length), height=1.0, line=0.5)
        canvas.text(label + value / most * length + 0.3, y + 0.5, f"{value:.1f}", size=9)
    if limit:
        x, end = label + limit[1] / most * length, 1.1 + 1.4 * len(values)
        canvas.line((x, x), (0.9, end), ink=INK, line=1.4)
        canvas.text(x, end + 0.5, f"{limit[0]} {limit[1]:.1f}", align="right" if x > label + length / 2 else "left", size=9)
    told = ", ".join(f"{name} {value:.1f}" for name, value in values.items())
    return canvas.finish(f"{what}: {told}" + (f"; {limit[0]} {limit[1]:.1f}" if limit else ""))


def _shade(share: float) -> str:
    """A blue between dark (0) and pale (1).

    >>> _shade(0), _shade(1)
    ('#084594', '#deebf7')
    """
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in zip(_EARLY, _LATE, strict=True))
