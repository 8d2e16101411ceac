"""What a kernel did to memory, drawn from its trace: which program read or wrote which element.

One panel a tensor and direction. Reads only the values in `course_lib.checking.events`; launches nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from matplotlib.colors import ListedColormap

from course_lib.checking.events import Event, Launch, Trace, View
from course_lib.figures.canvas import ALARM, FAINT, PROGRAM_COLOURS, SHARED, Canvas, Picture, programs_colour

Program = tuple[int, int, int]

_LEFT = 1.4
_LINE = 32
_MOST_CELLS = 1024
_MOST_OUTSIDE = 24


@dataclass
class _Panel:
    """One tensor and one direction of one launch: the programs that touched each offset."""

    launch: Launch
    view: View
    verb: str
    inside: dict[int, set[Program]] = field(default_factory=dict)
    outside: dict[int, set[Program]] = field(default_factory=dict)

    def add(self, event: Event) -> None:
        for places, offsets in ((self.inside, event.elements), (self.outside, event.outside)):
            for offset in np.unique(offsets).tolist():
                places.setdefault(offset, set()).add(event.program)

    @property
    def offsets(self) -> list[int]:
        """The offset from the view's first element of every element, in row-major order."""
        return (self.view.elements - self.view.offset).tolist()

    @property
    def title(self) -> str:
        touched = sum(offset in self.inside for offset in self.offsets)
        words = f"{self.view.name}: {touched} of {self.view.numel} elements {self.verb}"
        if self.outside:
            words += f", {len(self.outside)} outside the tensor"
        return words

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of cells: a vector is broken into lines, more than two dimensions are stacked."""
        if len(self.view.shape) < 2:
            width = _LINE if self.view.numel <= _MOST_CELLS else 128
            columns = min(width, max(1, self.view.numel))
            return -(-self.view.numel // columns), columns
        columns = max(1, self.view.shape[-1])
        return self.view.numel // columns, columns


def draw_accesses(trace: Trace, tensor: torch.Tensor | str | None = None) -> Picture:
    """Which program touched which element of each tensor (or of one), with what lies outside marked.

    The number in a cell is the program's id: x, or x,y on a grid of two axes. `tensor` is one of the traced call's
    arguments, its result, or the name of a kernel argument.
    """
    panels = list(_panels(trace, _events(trace, tensor)))
    if not panels:
        canvas = Canvas(16, 1)
        canvas.text(0, 0.5, "no kernel touched this" if trace.launches else "no kernel was launched", bold=True)
        return canvas.finish("no memory accesses")
    several = len(trace.launches) > 1
    columns = min(_LINE, max(panel.shape[1] for panel in panels))
    if any(_as_image(panel) for panel in panels):
        columns = _LINE
    canvas = Canvas(_LEFT + columns, sum(_height(panel, several) for panel in panels) + 0.5)
    y = 0.0
    for panel in panels:
        _draw(canvas, panel, y, several)
        y += _height(panel, several)
    _legend(canvas, panels, y + 0.2)
    return canvas.finish("; ".join(f"{panel.launch.kernel}, {panel.title}" for panel in panels))


def _events(trace: Trace, tensor: torch.Tensor | str | None) -> Iterable[Event]:
    if tensor is None:
        return trace.events
    wanted = {id(event) for event in (*trace.reads(tensor), *trace.writes(tensor))}
    return [event for event in trace.events if id(event) in wanted]


def _panels(trace: Trace, events: Iterable[Event]) -> Iterator[_Panel]:
    found: dict[tuple[int, int, str], _Panel] = {}
    for event in events:
        verb = {"load": "read", "store": "written", "atomic": "updated atomically"}[event.kind]
        key = (event.launch, event.view, verb)
        launch = trace.launches[event.launch]
        if key not in found:
            found[key] = _Panel(launch, launch.views[event.view], verb)
        found[key].add(event)
    return iter(found[key] for key in sorted(found))


def _height(panel: _Panel, several: bool) -> float:
    rows = _image_rows(panel) if _as_image(panel) else panel.shape[0]
    return 2.4 + (0.9 if several else 0) + rows + (2.5 if panel.outside else 0)


def _as_image(panel: _Panel) -> bool:
    rows, columns = panel.shape
    return rows * columns > _MOST_CELLS or columns > _LINE


def _image_rows(panel: _Panel) -> float:
    rows, columns = panel.shape
    return float(np.clip(rows / columns * _LINE, 2, 16))


def _draw(canvas: Canvas, panel: _Panel, y: float, several: bool) -> None:
    if several:
        canvas.text(0, y + 0.1, f"{panel.launch.kernel}, grid {_grid(panel.launch)}", size=9, ink=FAINT)
        y += 0.9
    canvas.text(0, y + 0.2, panel.title, bold=True)
    y += 1.6
    if _as_image(panel):
        _draw_image(canvas, panel, y)
        y += _image_rows(panel)
    else:
        _draw_cells(canvas, panel, y)
        y += panel.shape[0]
    if panel.outside:
        _draw_outside(canvas, panel, y)


def _draw_cells(canvas: Canvas, panel: _Panel, y: float) -> None:
    rows, columns = panel.shape
    vector = len(panel.view.shape) < 2
    for column in range(columns):
        canvas.text(_LEFT + column + 0.5, y - 0.4, str(column), align="center", size=7, ink=FAINT)
    for row in range(rows if rows > 1 or not vector else 0):
        label = f"+{row * columns}" if vector else str(row)
        canvas.text(_LEFT - 0.25, y + row + 0.5, label, align="right", size=7, ink=FAINT)
    for index, offset in enumerate(panel.offsets):
        programs = panel.inside.get(offset)
        place = (_LEFT + index % columns, y + index // columns)
        if not programs:
            canvas.cell(*place, dashed=True, edge="#999999")
        elif len(programs) == 1:
            canvas.cell(*place, _name(panel.launch, *programs), fill=_colour(panel.launch, *programs))
        elif panel.verb == "written":
            canvas.cell(*place, f"{len(programs)}×", fill=SHARED, edge=ALARM, line=1.6, bold=True)
        else:
            canvas.cell(*place, f"{len(programs)}×", fill="#dddddd")


def _draw_image(canvas: Canvas, panel: _Panel, y: float) -> None:
    """Too many cells for numbers: colours only, in the order of the grid."""
    rows, columns = panel.shape
    values = np.full(rows * columns, np.nan)
    for index, offset in enumerate(panel.offsets):
        programs = panel.inside.get(offset)
        if programs:
            colour = _number(panel.launch, min(programs)) % len(PROGRAM_COLOURS)
            values[index] = colour if len(programs) == 1 else len(PROGRAM_COLOURS)
    height = _image_rows(panel)
    colours = ListedColormap([*PROGRAM_COLOURS, ALARM if panel.verb == "written" else "#888888"])
    canvas.axes.imshow(
        values.reshape(rows, columns),
        cmap=colours,
        vmin=-0.5,
        vmax=len(PROGRAM_COLOURS) + 0.5,
        extent=(_LEFT, _LEFT + _LINE, y + height, y),
        aspect="auto",
        interpolation="nearest",
    )
    canvas.frame(_LEFT, y, _LINE, height, line=0.8)


def _draw_outside(canvas: Canvas, panel: _Panel, y: float) -> None:
    offsets = sorted(panel.outside)
    fitting = int(min(_MOST_OUTSIDE, canvas.width - _LEFT - 3))
    shown = offsets[:fitting]
    canvas.text(_LEFT, y + 0.5, "outside the tensor, at these offsets from its first element:", size=8.5, ink=ALARM)
    for position, offset in enumerate(shown):
        programs = panel.outside[offset]
        label = _name(panel.launch, *programs) if len(programs) == 1 else f"{len(programs)}×"
        canvas.text(_LEFT + position + 0.5, y + 1.2, str(offset).replace("-", "−"), align="center", size=6.5, ink=ALARM)
        canvas.cell(_LEFT + position, y + 1.5, label, edge=ALARM, line=1.6, hatch="xx", bold=True)
    if len(offsets) > len(shown):
        canvas.text(_LEFT + len(shown) + 0.3, y + 2.0, f"… {len(offsets) - len(shown)} more", size=8.5, ink=ALARM)


def _legend(canvas: Canvas, panels: list[_Panel], y: float) -> None:
    numbered = any(not _as_image(panel) for panel in panels)
    words = ["the number in a cell: the program's id" if numbered else "one colour a program; colours repeat"]
    if any(offset not in panel.inside for panel in panels for offset in panel.offsets):
        words.append("dashed: not touched")
    if any(len(programs) > 1 for panel in panels for programs in (*panel.inside.values(), *panel.outside.values())):
        words.append("2×: by two programs")
    canvas.text(0, y, " · ".join(words), size=8.5, ink=FAINT)


def _number(launch: Launch, program: Program) -> int:
    """The program's place in the grid, counted with the last axis fastest, as the interpreter runs them."""
    _, ny, nz = launch.grid
    return (program[0] * ny + program[1]) * nz + program[2]


def _colour(launch: Launch, program: Program) -> str:
    return programs_colour(_number(launch, program))


def _name(launch: Launch, program: Program) -> str:
    axes = max((axis + 1 for axis, size in enumerate(launch.grid) if size > 1), default=1)
    return ",".join(map(str, program[:axes]))


def _grid(launch: Launch) -> str:
    axes = max((axis + 1 for axis, size in enumerate(launch.grid) if size > 1), default=1)
    return str(launch.grid[:axes])
