"""A picture of a pipelined loop: which rows are on their way while one is computed."""

from __future__ import annotations

from dataclasses import dataclass

from course_lib.figures.canvas import FAINT, IDLE, SHARED, Canvas, Picture, counted, programs_colour


@dataclass(frozen=True)
class Turn:
    """When a row's load begins and arrives, and when it begins and ends to be computed."""

    asked: int
    there: int
    begun: int
    done: int


def turns(n_rows: int, num_stages: int, load: int, compute: int) -> list[Turn]:
    """The turns of one program's loop, where a load takes `load` units of time and the rest of a turn `compute`.

    With S stages, S − 1 rows are asked for before the first turn; each turn first waits for its row, and then asks for the one
    S − 1 turns ahead.

    >>> [turn.done for turn in turns(3, 1, load=4, compute=1)], [turn.done for turn in turns(3, 3, load=4, compute=1)]
    ([5, 10, 15], [5, 6, 9])
    """
    ahead = num_stages - 1
    found: list[Turn] = []
    for row in range(n_rows):
        free = found[-1].done if found else 0
        asked = (found[row - ahead].begun if row >= ahead else 0) if ahead else free
        begun = max(asked + load, free)
        found.append(Turn(asked, asked + load, begun, begun + compute))
    return found


def draw_pipeline(num_stages: int, n_rows: int = 7, load: int = 4, compute: int = 1) -> Picture:
    """One program's rows over time: on their way, waiting in shared memory, computed. A model, and no measurement.

    >>> draw_pipeline(4)
    <Picture: 7 rows in 4 stages, if a load takes 4 units of time and the rest of a turn 1: done after 13>
    """
    found = turns(n_rows, num_stages, load, compute)
    slowest = n_rows * (load + compute)
    left, scale = 3.4, 22 / slowest
    canvas = Canvas(left + 22, 3.9 + 1.15 * n_rows)
    stages = counted(num_stages, "stage")
    canvas.text(0, 0.2, f"{stages}: {n_rows} rows are done after {found[-1].done} units of time", bold=True)
    words = f"a model: a load takes {load} units, the rest of a turn {compute}"
    canvas.text(0, 1.15, words, size=8.5, ink=FAINT)
    for row, turn in enumerate(found):
        y = 1.9 + 1.15 * row

        def bar(start: int, end: int, words: str, fill: str, hatch: str | None = None, y: float = y) -> None:
            if end > start:
                x, width = left + start * scale, (end - start) * scale
                canvas.cell(x, y, words if width > 2 else "", fill=fill, width=width, hatch=hatch, size=8)

        canvas.text(0, y + 0.5, f"turn {row}", size=9)
        bar(turn.asked, turn.there, "on its way", IDLE, "////")
        bar(turn.there, turn.begun, "waits", SHARED)
        bar(turn.begun, turn.done, "", programs_colour(0))
    y = 2.3 + 1.15 * n_rows
    legend = (
        ("on its way", IDLE, "////"),
        ("waits in shared memory", SHARED, None),
        ("computed, stored", programs_colour(0), None),
    )
    for number, (words, fill, hatch) in enumerate(legend):
        canvas.cell(left + 7.3 * number, y, "", fill=fill, hatch=hatch, width=0.9, height=0.9)
        canvas.text(left + 7.3 * number + 1.2, y + 0.45, words, size=8.5)
    return canvas.finish(
        f"{n_rows} rows in {stages}, if a load takes {load} units of time and the rest of a turn {compute}: "
        f"done after {found[-1].done}"
    )
