"""Pictures of a row on its way through a kernel: its lanes step by step, and what it costs in memory traffic.

Drawn from values that ran or were counted; nothing is launched here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from course_lib.figures.canvas import FAINT, IDLE, INK, Canvas, Picture, counted, programs_colour

READ, WRITTEN = programs_colour(0), programs_colour(1)
_MOST_LANES = 32
_MOST_STEPS = 12
_MOST_TURNING_LANES = 16


def draw_lanes(steps: Mapping[str, Sequence[float]], n: int) -> Picture:
    """What each lane of a block holds after each step, of which the first `n` lanes have an element; the rest is padding.

    `steps` has the values of all lanes by the name of the step. What is not finite is bold. Raises `ValueError` for steps of
    different lengths, none, or more than 32 lanes.

    >>> draw_lanes({"x": [1.0, 2.0, -math.inf, -math.inf]}, 2)
    <Picture: 4 lanes, 2 of them padding: x = 1, 2, −inf, −inf>
    """
    lanes = _length(steps, "lanes")
    return _draw_steps(steps, n, f"{counted(lanes, 'lane')}, {lanes - n} of them padding", " (hatched)")


def draw_row(steps: Mapping[str, Sequence[float]]) -> Picture:
    """What each score of a row becomes, step by step. Arguments and errors as those of `draw_lanes`.

    >>> draw_row({"x": [1.0, 2.0], "exp": [2.7, 7.4]})
    <Picture: a row of 2 scores: x = 1, 2; exp = 2.7, 7.4>
    """
    n = _length(steps, "scores")
    return _draw_steps(steps, n, f"a row of {counted(n, 'score')}")


def _length(steps: Mapping[Any, Sequence[float]], unit: str) -> int:
    """How many values every step has."""
    lengths = {len(values) for values in steps.values()}
    if len(lengths) != 1 or max(lengths) > _MOST_LANES:
        raise ValueError(f"this picture holds steps of the same length, up to {_MOST_LANES} {unit}, not {sorted(lengths)}")
    return lengths.pop()


def _draw_steps(steps: Mapping[str, Sequence[float]], n: int, title: str, more: str = "") -> Picture:
    """Cells for the values of each step, one below the other; those from the `n`-th on are padding."""
    lanes = len(next(iter(steps.values())))
    left, wide = 1.0 + 0.5 * max(map(len, steps)), 2.3 if lanes <= 16 else 1.2
    canvas = Canvas(left + lanes * wide, 1.9 + 1.4 * len(steps))
    canvas.text(0, 0.2, title + more, bold=True)
    for lane in range(lanes):
        canvas.text(left + (lane + 0.5) * wide, 1.5, str(lane), align="center", size=8, ink=FAINT)
    for row, (name, values) in enumerate(steps.items()):
        y = 2.0 + 1.4 * row
        canvas.text(0, y + 0.5, name, size=9)
        for lane, value in enumerate(values):
            spare, odd = lane >= n, not math.isfinite(value)
            fill = IDLE if spare else programs_colour(0)
            canvas.cell(
                left + lane * wide, y, fill=fill, width=wide, hatch="////" if spare else None, dashed=spare, edge="#777777"
            )
            middle = (left + (lane + 0.5) * wide, y + 0.5)
            canvas.text(*middle, short(value), align="center", size=8, bold=odd, backed=IDLE if spare else None)
    told = "; ".join(f"{name} = {', '.join(map(short, values))}" for name, values in steps.items())
    return canvas.finish(f"{title}: {told}")


def short(value: float) -> str:
    """A value in few characters; whole numbers up to four digits in full.

    >>> short(0.0321), short(-math.inf), short(-102.0), short(1e-20)
    ('0.032', '−inf', '−102', '1e-20')
    """
    if math.isnan(value):
        return "NaN"
    whole = math.isfinite(value) and value == int(value) and abs(value) < 10_000
    return f"{value:{'.0f' if whole else '.2g'}}".replace("e+", "e").replace("-", "−", 1 if value < 0 else 0)


def draw_turns(row: Sequence[float], totals: Sequence[Sequence[float]]) -> Picture:
    """A row that a loop takes up block by block: what each turn loads, and what the lanes of the accumulator hold after it.

    `totals` has the accumulator after each turn; its length is the block's. Lanes of the last block without an element are
    hatched. Raises `ValueError` if the row takes another number of turns, and for more than 16 lanes.

    >>> draw_turns([1.0, 2.0, 3.0], [[1.0, 2.0], [4.0, 2.0]])
    <Picture: a row of 3 elements in blocks of 2: 2 turns, 1 lane past the end, then 4 + 2 = 6>
    """
    block, turns = _length(dict(enumerate(totals)), "lanes"), len(totals)
    if block > _MOST_TURNING_LANES or turns != -(-len(row) // block):
        raise ValueError(f"{turns} turns of {block} lanes are not those of a row of {len(row)}, or too wide")
    spare = turns * block - len(row)
    words = f"a row of {counted(len(row), 'element')} in blocks of {block}: {counted(turns, 'turn')}"
    words += f", {counted(spare, 'lane')} past the end"
    left, wide = 4.5, 1.8
    canvas = Canvas(left + block * wide + 0.5, 3.2 + 3.1 * turns)
    canvas.text(0, 0.2, words, bold=True)
    for lane in range(block):
        canvas.text(left + (lane + 0.5) * wide, 1.4, str(lane), align="center", size=8, ink=FAINT)
    for turn, total in enumerate(totals):
        y = 2.0 + 3.1 * turn
        canvas.text(0, y + 0.5, f"turn {turn}: load", size=9)
        canvas.text(0, y + 1.9, "total", size=9)
        for lane in range(block):
            x, column = left + lane * wide, turn * block + lane
            if column < len(row):
                canvas.cell(x, y, short(row[column]), fill=READ, width=wide, size=8)
            else:
                canvas.cell(x, y, fill=IDLE, width=wide, hatch="////", dashed=True)
            canvas.cell(x, y + 1.4, short(total[lane]), fill=WRITTEN, width=wide, size=8)
    added = f"{' + '.join(map(short, totals[-1]))} = {short(sum(totals[-1]))}"
    canvas.text(0, 2.3 + 3.1 * turns, f"one reduction at the end: {added}", size=9)
    return canvas.finish(f"{words}, then {added}")


def draw_traffic(forms: Mapping[str, Sequence[tuple[str, int, int]]], unit: str = "bytes") -> Picture:
    """What several ways to compute the same thing move between memory and the GPU: (operation, read, written) for each step.

    Each operation has a bar, all on one scale; each way has its total. Raises `ValueError` if nothing moves, or if there are
    more than 12 operations.

    >>> draw_traffic({"twice": [("copy", 4, 4), ("copy", 4, 4)], "once": [("copy", 4, 4)]})
    <Picture: twice: 2 operations, 16 bytes; once: 1 operation, 8 bytes>
    """
    steps = [step for form in forms.values() for step in form]
    largest = max((read + written for _, read, written in steps), default=0)
    if not largest or len(steps) > _MOST_STEPS:
        raise ValueError(f"this picture holds up to {_MOST_STEPS} operations that move something, not {len(steps)}")
    left = 1.0 + 0.52 * max(len(name) for name, _, _ in steps)
    bar = 27.0 - left
    canvas = Canvas(left + bar + 1, 1.8 + sum(1.9 + 1.15 * len(form) for form in forms.values()))
    y, told = 0.0, []
    for name, form in forms.items():
        total = sum(read + written for _, read, written in form)
        told.append(f"{name}: {counted(len(form), 'operation')}, {total} {unit}")
        canvas.text(0, y + 0.3, f"{name}: {counted(len(form), 'operation')}, {total:,} {unit}", bold=True)
        y += 1.0
        for operation, read, written in form:
            canvas.text(left - 0.5, y + 0.45, operation, align="right", size=8.5)
            width = read / largest * bar
            canvas.cell(left, y, fill=READ, width=width, height=0.85)
            canvas.cell(left + width, y, fill=WRITTEN, width=written / largest * bar, height=0.85)
            y += 1.15
        y += 0.9
    for x, fill, words in ((left, READ, "read"), (left + 4, WRITTEN, "written")):
        canvas.cell(x, y, fill=fill, width=0.9, height=0.85)
        canvas.text(x + 1.2, y + 0.45, words, size=8.5, ink=INK)
    return canvas.finish("; ".join(told))
