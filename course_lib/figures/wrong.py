"""A picture of a wrong result: which elements are wrong, and whose values they hold.

Pure: it compares numbers that it is given. Tolerances and verdicts are the checker's business.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from course_lib.figures.canvas import FAINT, IDLE, SHARED, Canvas, Picture, counted, programs_colour

Matrix = Sequence[Sequence[float]]
_CLOSE = 1e-5
_TOLD = 4


def draw_wrong(got: Matrix, want: Matrix) -> Picture:
    """Each element of `got`: right ones are plain, wrong ones say which element of `want` has their value.

    "?" stands for a value that no element should have, or that several should. Raises `ValueError` for matrices of different
    shapes, or of more than 24 columns.

    >>> draw_wrong([[1.0, 3.0], [2.0, 9.0]], [[1.0, 2.0], [3.0, 4.0]])
    <Picture: 3 of 4 elements are wrong: (0, 1) holds (1, 0), (1, 0) holds (0, 1), (1, 1) holds ?>
    """
    shape = (len(want), len(want[0]))
    if [len(row) for row in got] != [len(row) for row in want] or shape[1] > 24:
        raise ValueError("this picture compares two matrices of the same shape, of 24 columns at most")
    owners: dict[tuple[int, int], str] = {}
    for i, row in enumerate(got):
        for j, value in enumerate(row):
            if not _same(value, want[i][j]):
                owners[i, j] = _owner(value, want)
    wide, top = 1.6, 2.0
    canvas = Canvas(1.2 + shape[1] * wide, top + shape[0] + 1.2)
    told = f"{len(owners)} of {counted(shape[0] * shape[1], 'element')} are wrong"
    canvas.text(0, 0.2, told, bold=True)
    for j in range(shape[1]):
        canvas.text(1.2 + (j + 0.5) * wide, top - 0.5, str(j), align="center", size=8, ink=FAINT)
    for i in range(shape[0]):
        canvas.text(0.4, top + i + 0.5, str(i), align="center", size=8, ink=FAINT)
        for j in range(shape[1]):
            owner = owners.get((i, j))
            fill = programs_colour(0) if owner is None else SHARED if owner != "?" else IDLE
            canvas.cell(1.2 + j * wide, top + i, owner or "", fill=fill, width=wide, bold=owner is not None)
    canvas.text(
        0, top + shape[0] + 0.7, "blue: right.  i,j: it holds what belongs to row i, column j.  ?: nobody's value", size=8.5
    )
    holds = [f"{place} holds {f'({owner})'.replace(',', ', ') if owner != '?' else owner}" for place, owner in owners.items()]
    listed = ", ".join(holds[:_TOLD] + ["…"] * (len(holds) > _TOLD))
    return canvas.finish(told + (f": {listed}" if owners else ""))


def _same(one: float, other: float) -> bool:
    return one == other or math.isclose(one, other, rel_tol=_CLOSE) or (math.isnan(one) and math.isnan(other))


def _owner(value: float, want: Matrix) -> str:
    """The place of the one element that has this value, as "i,j"; "?" if there is none, or more than one."""
    places = [f"{i},{j}" for i, row in enumerate(want) for j, other in enumerate(row) if _same(value, other)]
    return places[0] if len(places) == 1 else "?"
