"""Pictures of compiled code: two listings side by side, and a tile's layout over warps and lanes."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from course_lib.figures.canvas import FAINT, INK, Canvas, Picture, counted, programs_colour
from course_lib.machine.instructions import KINDS, Instruction
from course_lib.machine.layouts import Blocked

SHOWN = ("shuffle", "shared store", "barrier", "shared load", "global load", "global store", "async copy", "matrix")
"""The kinds of instruction that a listing marks; each has its colour, the same in every picture."""

_COLUMN, _BETWEEN = 21.0, 5.0
_LINE = 0.78


class HasCode(Protocol):
    """What a listing needs of a compiled kernel."""

    @property
    def kernel(self) -> str: ...

    @property
    def target(self) -> str: ...

    @property
    def instructions(self) -> tuple[Instruction, ...]: ...


Line = Instruction | int
"""An instruction to be shown, or how many others stand here that are not."""


def draw_side_by_side(
    left: HasCode,
    right: HasCode,
    titles: tuple[str, str] | None = None,
    kinds: Sequence[str] = SHOWN,
    join: bool = True,
) -> Picture:
    """Two kernels' machine code: instructions of the same kind have one colour, and lines join those that match.

    Instructions of other kinds than `kinds` are only counted. Matching is by kind and order, whatever the registers. `join`
    draws the lines; leave them out where one instruction stands for several of the other kernel's.
    """
    both = [_lines(one.instructions, kinds) for one in (left, right)]
    titles = titles or (f"{left.kernel}, {left.target}", f"{right.kernel}, {right.target}")
    present = [kind for kind in kinds if any(isinstance(line, Instruction) and line.kind == kind for line in both[0] + both[1])]
    canvas = Canvas(2 * _COLUMN + _BETWEEN, 3.6 + _LINE * max(map(len, both)))
    x = 0.0
    for kind in present:
        canvas.cell(x, 0, fill=_colour(kind), width=0.9, height=0.9)
        canvas.text(x + 1.2, 0.45, kind, size=7.5)
        x += 2.4 + 0.5 * len(kind)
    top = 3.0
    for column, (lines, title) in enumerate(zip(both, titles, strict=True)):
        left_edge = column * (_COLUMN + _BETWEEN)
        canvas.text(left_edge, 2.1, title, bold=True, size=9)
        for number, line in enumerate(lines):
            _draw_line(canvas, line, left_edge, top + number * _LINE)
    matches = _matches(*both)
    for one, other in matches if join else ():
        ys = (top + (one + 0.5) * _LINE, top + (other + 0.5) * _LINE)
        canvas.line((_COLUMN, _COLUMN + _BETWEEN), ys, ink=INK, line=0.9)
    return canvas.finish(
        f"{titles[0]} beside {titles[1]}: {counted(len(matches), 'instruction')} of the same kind and order in both"
    )


def _lines(instructions: Sequence[Instruction], kinds: Sequence[str]) -> list[Line]:
    lines: list[Line] = []
    for instruction in instructions:
        if instruction.kind in kinds:
            lines.append(instruction)
        elif lines and isinstance(lines[-1], int):
            lines[-1] += 1
        else:
            lines.append(1)
    return lines


def _matches(left: list[Line], right: list[Line]) -> list[tuple[int, int]]:
    """Places of instructions of the same kind in the same order: the longest such sequence."""
    shown = [[place for place, line in enumerate(lines) if isinstance(line, Instruction)] for lines in (left, right)]
    one, other = ([line.kind for line in lines if isinstance(line, Instruction)] for lines in (left, right))
    blocks = difflib.SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    return [(shown[0][first + i], shown[1][second + i]) for first, second, size in blocks for i in range(size)]


def _draw_line(canvas: Canvas, line: Line, x: float, y: float) -> None:
    if isinstance(line, int):
        canvas.text(x + 3.0, y + _LINE / 2, f"… {counted(line, 'other instruction')}", size=6.5, ink=FAINT)
        return
    canvas.cell(x, y, fill=_colour(line.kind), width=_COLUMN, height=_LINE, line=0.4)
    words = f"{line.predicate:>5} {line.opcode}"
    operands = line.operands if len(words) + len(line.operands) < 44 else f"{line.operands[: 42 - len(words)]}…"
    canvas.text(x + 0.3, y + _LINE / 2, f"{words} {operands}", size=6.2, mono=True)


def _colour(kind: str) -> str:
    return programs_colour(SHOWN.index(kind) if kind in SHOWN else len(SHOWN) + list(KINDS).index(kind))


# --- layouts ---------------------------------------------------------------------------------------------------------

_MOST_ROWS, _MOST_COLUMNS = 32, 64


def _held(size_per_thread: Sequence[int]) -> str:
    """
    >>> _held([1, 4]), _held([1])
    ('1 × 4 neighbours', 'single elements')
    """
    return "single elements" if set(size_per_thread) == {1} else f"{' × '.join(map(str, size_per_thread))} neighbours"


def draw_layout(layout: Blocked, shape: tuple[int, ...], name: str = "blocked") -> Picture:
    """Which lane holds which element of a tile of one or two axes: the lane's number in the warp's colour.

    Neighbours that one lane holds are framed together: what it can load at once. Of a tile that is larger than the picture,
    the upper left corner is shown. Raises `ValueError` for more than two axes.
    """
    if not 1 <= len(shape) <= 2 or len(shape) != len(layout.order):
        raise ValueError(f"this picture is for layouts of one or two axes and a shape to match, not {layout} with {shape}")
    owners = layout.owners(shape)
    if len(shape) == 1:
        per_line = min(shape[0], 32)
        rows = -(-shape[0] // per_line)
        padded = np.full((rows * per_line, 3), -1)
        padded[: shape[0]] = owners
        owners = padded.reshape(rows, per_line, 3)
    shown = owners[:_MOST_ROWS, :_MOST_COLUMNS]
    height, width = shown.shape[:2]
    left, top = 3.0, 3.4
    canvas = Canvas(left + width, top + height + 1.8)
    words = f"{' × '.join(map(str, shape))} elements; each thread holds {_held(layout.size_per_thread)}"
    canvas.text(0, 0.2, f"#{name}: {words}", bold=True, size=9)
    warps = sorted({int(warp) for warp in owners[..., 0].ravel() if warp >= 0})
    for position, warp in enumerate(warps[:8]):
        canvas.cell(position * 4.0, 1.0, f"warp {warp}", fill=programs_colour(warp), width=3.6, height=0.9, size=7.5)
    for row in range(height):
        label = str(row) if len(shape) == 2 else str(row * width)
        canvas.text(left - 0.4, top + row + 0.5, label, align="right", size=7, ink=FAINT)
        for column in range(width):
            warp, lane, _ = (int(number) for number in shown[row, column])
            if warp >= 0:
                canvas.cell(left + column, top + row, str(lane), fill=programs_colour(warp), line=0.3, size=canvas.small * 0.85)
    _frame_groups(canvas, layout, shown, len(shape), left, top)
    rest = "" if owners.shape == shown.shape else f"; shown are the first {height} × {width}"
    legend = f"a number is the lane that holds the element, a colour the warp{rest}"
    canvas.text(0, top + height + 0.9, legend, size=8, ink=FAINT)
    return canvas.finish(f"layout #{name} in {counted(len(warps), 'warp')}: {words}")


def _frame_groups(canvas: Canvas, layout: Blocked, shown: np.ndarray, axes: int, left: float, top: float) -> None:
    """An outline around the neighbours that one thread holds."""
    down, across = (1, layout.size_per_thread[0]) if axes == 1 else layout.size_per_thread
    height, width = shown.shape[:2]
    for row in range(0, height, down):
        for column in range(0, width, across):
            if shown[row, column, 0] >= 0:
                size = (min(across, width - column), min(down, height - row))
                canvas.frame(left + column, top + row, *size, line=1.1)
