"""Pictures of a simulated block (`machine/warp.py`): the butterfly of a warp, and sums that meet in shared memory.

They draw the trace of a run: what the lanes really exchanged, wrote and read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from matplotlib.collections import LineCollection

from course_lib.figures.canvas import ALARM, FAINT, IDLE, INK, PAPER, Canvas, Picture, counted, programs_colour
from course_lib.machine.trace import Access, Barrier, Run, Shuffle
from course_lib.machine.undefined import UNDEFINED

_LEFT = 4.6
_GAP = 3.0


def draw_butterfly(run: Run, step: int | None = None, warp: int = 0) -> Picture:
    """The exchanges of one warp: each lane's value, the lines along which values travel, and the values after.

    `step` draws the first so many exchanges, the last of them thick; left out, all. Lanes with equal values have one colour,
    so a sum that reaches every lane ends in one colour. A value that CUDA leaves undefined is a question mark.

    Raises `ValueError` for a warp that exchanged nothing, and for a step that it did not take.
    """
    shuffles = [shuffle for shuffle in run.shuffles if shuffle.warp == warp]
    if not shuffles:
        raise ValueError(f"warp {warp} exchanged nothing")
    step = len(shuffles) if step is None else step
    if not 1 <= step <= len(shuffles):
        raise ValueError(f"warp {warp} exchanged {len(shuffles)} times: step is from 1 to {len(shuffles)}, not {step}")
    lanes = run.warp_size
    results = (*run.results[warp * lanes : (warp + 1) * lanes], *[None] * lanes)[:lanes]
    rows = [shuffle.gave for shuffle in shuffles] + [results]
    canvas = Canvas(_LEFT + lanes, 2.6 + len(shuffles) * (1 + _GAP) + 1)
    canvas.text(0, 0.2, f"warp {warp}, {_name(shuffles[step - 1])}: exchange {step} of {len(shuffles)}", bold=True)
    for lane in range(lanes):
        canvas.text(_LEFT + lane + 0.5, 1.7, str(lane), align="center", size=canvas.small, ink=FAINT)
    canvas.text(0, 1.7, "lane", size=8.5, ink=FAINT)
    for number, values in enumerate(rows):
        y = 2.2 + number * (1 + _GAP)
        words = "at first" if number == 0 else f"after {_distance(shuffles[number - 1])}"
        canvas.text(0, y + 0.5, words, size=9, ink=INK if number <= step else FAINT)
        kinds = {value: place for place, value in enumerate(dict.fromkeys(values))}
        for lane, value in enumerate(values):
            _cell(canvas, _LEFT + lane, y, value if number <= step else None, programs_colour(kinds[value]))
        if 0 < number <= step:
            _strings(canvas, shuffles[number - 1], y - _GAP, number == step)
    undefined = sum(value is UNDEFINED for value in rows[step])
    told = f", {counted(undefined, 'lane')} undefined" if undefined else ""
    return canvas.finish(f"warp {warp} after {counted(step, 'exchange')} of {len(shuffles)}{told}")


def _name(shuffle: Shuffle) -> str:
    return f"__{shuffle.op}_sync"


def _distance(shuffle: Shuffle) -> str:
    """How far the values of a shuffle travel, if it is the same for all lanes, in the sign of its operation."""
    far = {lane ^ source for lane, source in enumerate(shuffle.source) if source is not None}
    away = {abs(lane - source) for lane, source in enumerate(shuffle.source) if source is not None} - {0}
    if shuffle.op == "shfl_xor" and len(far) == 1:
        return f"lane ^ {far.pop()}"
    if shuffle.op != "shfl_xor" and len(away) == 1:
        return f"lane {'+' if shuffle.op == 'shfl_down' else '−'} {away.pop()}"
    return shuffle.op


def _strings(canvas: Canvas, shuffle: Shuffle, y: float, now: bool) -> None:
    for received, colour in ((True, INK if now else "#b0b0b0"), (False, ALARM)):
        lines = [
            [(_LEFT + source + 0.5, y), (_LEFT + lane + 0.5, y + _GAP)]
            for lane, source in enumerate(shuffle.source)
            if source is not None and (shuffle.got[lane] is not UNDEFINED) == received
        ]
        canvas.axes.add_collection(LineCollection(lines, colors=colour, linewidths=1.0 if now else 0.5))


def _cell(canvas: Canvas, x: float, y: float, value: Any, fill: str) -> None:
    if value is None:
        canvas.cell(x, y, fill=PAPER, dashed=True, edge="#bbbbbb")
    elif value is UNDEFINED:
        canvas.cell(x, y, "?", edge=ALARM, line=1.4, bold=True)
    else:
        canvas.cell(x, y, _short(value), fill=fill, size=_fitting(canvas, _short(value)))


def _short(value: Any) -> str:
    """A value in few characters.

    >>> _short(496), _short(0.5), _short(-12.25), _short(1234567.0)
    ('496', '0.5', '−12.2', '1.2e6')
    """
    if value is UNDEFINED:
        return "?"
    number = float(value)
    text = str(int(number)) if number.is_integer() and abs(number) < 1e5 else f"{number:.3g}"
    return (text if len(text) <= 6 else f"{number:.1e}".replace("e+0", "e").replace("e+", "e")).replace("-", "−")


def _fitting(canvas: Canvas, text: str) -> float:
    """The largest size, up to the usual one, in which a number fits a cell."""
    return min(canvas.small, 105 * canvas.unit / len(text))


# --- a block ---------------------------------------------------------------------------------------------------------


@dataclass
class _Phase:
    """What happened between two barriers: how often each warp exchanged, and what it read and wrote in shared memory."""

    exchanges: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    reads: list[Access] = field(default_factory=list)
    writes: list[Access] = field(default_factory=list)
    barrier: Barrier | None = None


def _phases(run: Run) -> list[_Phase]:
    phases = [_Phase()]
    for event in run.events:
        if isinstance(event, Barrier):
            phases[-1].barrier = event
            phases.append(_Phase())
        elif isinstance(event, Shuffle):
            phases[-1].exchanges[event.warp] += 1
        else:
            (phases[-1].reads if event.kind == "read" else phases[-1].writes).append(event)
    return phases


_WIDTH = 32.0
_WARP, _CELL = 1.6, 1.8  # heights of a warp's box and of a cell
_MOST_WARPS, _MOST_CELLS = 8, 16


def draw_block(run: Run) -> Picture:
    """A block's way through shared memory: which warps write which cells, the barriers, and which warps read them.

    Time runs downwards. An arrow from a warp to a cell is a write, one from a cell to a warp a read. Where threads race, the
    cell is framed, reads without a barrier go back up, and the places are named below. More than 8 warps, or more than 16
    cells between two barriers, are a `ValueError`.
    """
    n_warps = -(-len(run.results) // run.warp_size)
    phases = _phases(run)
    written = [_written(phase) for phase in phases]
    if n_warps > _MOST_WARPS or max(map(len, written)) > _MOST_CELLS:
        most = max(map(len, written))
        raise ValueError(f"this picture holds {_MOST_WARPS} warps and {_MOST_CELLS} cells at a time, not {n_warps} and {most}")
    raced = dict.fromkeys((race.first.array, race.first.index) for race in run.races)
    told = [str(next(race for race in run.races if (race.first.array, race.first.index) == place)) for place in raced][:3]
    both = list(zip(phases, written, strict=True))
    below = [(2.2 + _CELL if cells else 0) + (3.4 if phase.barrier else 0) for phase, cells in both]
    canvas = Canvas(_WIDTH, 1.3 + sum(below) + _WARP * len(phases) + (1.2 * len(told) + 0.4 if told else 0))
    canvas.text(0, 0.2, f"{counted(len(run.results), 'thread')} in {counted(n_warps, 'warp')}; time runs downwards", bold=True)
    y = 1.3
    earlier: dict[tuple[str, int], tuple[float, float]] = {}  # the lower side of each cell that is safe to read
    for (phase, cells), height in zip(both, below, strict=True):
        warps = _draw_warps(canvas, run, phase, n_warps, y)
        _join(canvas, ((earlier[cell], warps[warp]) for cell, warp in _pairs(run, phase.reads) if cell in earlier), FAINT)
        if cells:
            tops = _draw_cells(canvas, cells, set(raced), y + _WARP + 2.2)
            feet = {warp: (x, top + _WARP) for warp, (x, top) in warps.items()}
            _join(canvas, ((feet[warp], tops[cell]) for cell, warp in _pairs(run, phase.writes)), FAINT)
            early = [(cell, warp) for cell, warp in _pairs(run, phase.reads) if cell in tops and cell in raced]
            _join(canvas, ((tops[cell], (feet[warp][0] + 0.5, feet[warp][1])) for cell, warp in early), ALARM)
            earlier.update({cell: (x, top + _CELL) for cell, (x, top) in tops.items()})
        y += _WARP + height
        if phase.barrier:
            canvas.line((0, _WIDTH), (y - 2.2, y - 2.2), ink=INK, line=3)
            words = f"__syncthreads() of {counted(phase.barrier.threads, 'thread')}"
            canvas.text(_WIDTH, y - 2.7, words, align="right", size=8.5, backed=PAPER)
    for line in told:
        y += 1.2
        canvas.text(0, y - 0.4, line, size=9, ink=ALARM)
    races = f", races at {counted(len(raced), 'place')}" if raced else ""
    return canvas.finish(
        f"{counted(len(run.results), 'thread')} in {counted(n_warps, 'warp')}: {counted(run.barriers, 'barrier')}, "
        f"{counted(sum(map(len, written)), 'cell')} of shared memory written{races}"
    )


def _written(phase: _Phase) -> dict[tuple[str, int], Any]:
    """The places written between two barriers with their last values, array by array."""
    values = {(one.array, one.index): one.value for one in phase.writes}
    arrays = list(dict.fromkeys(array for array, _ in values))
    return dict(sorted(values.items(), key=lambda item: (arrays.index(item[0][0]), item[0][1])))


def _pairs(run: Run, accesses: list[Access]) -> list[tuple[tuple[str, int], int]]:
    """Which cell goes with which warp, each pair once."""
    return list(dict.fromkeys(((one.array, one.index), one.thread // run.warp_size) for one in accesses))


def _draw_warps(canvas: Canvas, run: Run, phase: _Phase, n_warps: int, y: float) -> dict[int, tuple[float, float]]:
    """A box for each warp; returns the middle of each box's upper side."""
    each = _WIDTH / n_warps
    boxes = {}
    for warp in range(n_warps):
        lanes = min(run.warp_size, len(run.results) - warp * run.warp_size)
        words = f"warp {warp}" + (f", {counted(lanes, 'lane')}" if lanes < run.warp_size else "")
        exchanges = phase.exchanges.get(warp, 0)
        busy = exchanges or any(one.thread // run.warp_size == warp for one in (*phase.reads, *phase.writes))
        if exchanges:
            words += f"\n{counted(exchanges, 'shuffle')}"
        fill = programs_colour(warp) if busy else IDLE
        canvas.cell(warp * each + 0.2, y, words, fill=fill, width=each - 0.4, height=_WARP, size=8)
        boxes[warp] = ((warp + 0.5) * each, y)
    return boxes


def _draw_cells(
    canvas: Canvas, cells: dict[tuple[str, int], Any], raced: set[tuple[str, int]], y: float
) -> dict[tuple[str, int], tuple[float, float]]:
    """A box for each place of shared memory; returns the middle of each one's upper side."""
    side = min(3.4, _WIDTH / len(cells))
    left = (_WIDTH - side * len(cells)) / 2
    found = {}
    for position, ((array, index), value) in enumerate(cells.items()):
        x = left + position * side
        bad = (array, index) in raced or value is UNDEFINED
        canvas.cell(x, y, width=side, height=_CELL, edge=ALARM if bad else INK, line=2.0 if bad else 1.0)
        small = 7 if side > 2.5 else 5.5
        canvas.text(x + side / 2, y + 0.45, f"{array}[{index}]", align="center", size=small, ink=ALARM if bad else FAINT)
        canvas.text(x + side / 2, y + 1.2, _short(value), align="center", size=9, bold=value is UNDEFINED)
        found[array, index] = (x + side / 2, y)
    return found


def _join(canvas: Canvas, pairs: Iterable[tuple[tuple[float, float], tuple[float, float]]], ink: str) -> None:
    for start, end in pairs:
        canvas.arrow(start, end, ink=ink, line=0.9)
