"""Pictures of an online softmax, whose maximum and sum run along a row, and of the blocks of an attention's scores.

Drawn from values that ran, or computed from sizes alone; nothing is launched here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from course_lib.figures.canvas import IDLE, PAPER, Canvas, Picture, counted, programs_colour
from course_lib.figures.rows import READ, WRITTEN, short

_WHOLE, _CUT = programs_colour(0), programs_colour(1)
_MOST_SCORES = 32
_MOST_ELEMENTS = 16


def draw_running_pair(row: Sequence[float], block: int, pairs: Sequence[tuple[float, float]]) -> Picture:
    """A row in blocks, the running (maximum, sum) after each, and by how much the sum so far was multiplied on the way.

    The highest score of each block is framed. Raises `ValueError` unless there is a pair for each block of up to 16 scores.

    >>> draw_running_pair([1.0, 2.0, 4.0], 2, [(2.0, 1.37), (4.0, 1.19)])
    <Picture: a row of 3 scores in blocks of 2: the pair is (2, 1.4), then (4, 1.2); on the way the sum so far × 0.14>
    """
    n_blocks = -(-len(row) // block)
    if len(row) > _MOST_ELEMENTS or len(pairs) != n_blocks:
        raise ValueError(f"{len(pairs)} pairs are not those of {len(row)} scores in blocks of {block}, or too wide")
    wide, gap, left = 1.7, 1.9, 3.4
    starts = [left + number * (block * wide + gap) for number in range(n_blocks)]
    canvas = Canvas(starts[-1] + block * wide, 7.4)
    canvas.text(0, 0.2, f"a row of {counted(len(row), 'score')} in blocks of {block}", bold=True)
    for y, words in ((2.0, "scores"), (4.3, "maximum"), (5.8, "sum")):
        canvas.text(0, y, words, size=9)
    told, factors = [], []
    for number, (maximum, total) in enumerate(pairs):
        x, scores = starts[number], row[number * block : (number + 1) * block]
        for lane, score in enumerate(scores):
            canvas.cell(x + lane * wide, 1.5, short(score), fill=READ, width=wide, size=8)
        canvas.frame(x + scores.index(max(scores)) * wide, 1.5, wide, 1)
        raised = number == 0 or maximum > pairs[number - 1][0]
        middle = x + block * wide / 2
        canvas.arrow((middle, 2.6), (middle, 3.7))
        canvas.cell(x, 3.8, short(maximum), fill=WRITTEN if raised else PAPER, width=block * wide, size=9, bold=raised)
        canvas.cell(x, 5.3, short(total), fill=WRITTEN, width=block * wide, size=9)
        told.append(f"({short(maximum)}, {short(total)})")
        if number:
            factor = math.exp(pairs[number - 1][0] - maximum) if maximum > -math.inf else 1.0
            canvas.arrow((x - gap + 0.1, 5.8), (x - 0.1, 5.8))
            canvas.text(x - gap / 2, 6.6, f"× {short(factor)}", align="center", size=8, bold=factor < 1)
            factors.append(f"× {short(factor)}")
    words = f"a row of {counted(len(row), 'score')} in blocks of {block}: the pair is {', then '.join(told)}"
    return canvas.finish(f"{words}; on the way the sum so far {', '.join(factors)}" if factors else words)


def draw_score_blocks(
    n_queries: int, n_keys: int, block_m: int, block_n: int, causal: bool = False, program: int = 0
) -> Picture:
    """The scores of one head, a row for each query, in blocks of `block_m` queries and `block_n` keys.

    Blue are blocks in which every score counts, orange those that need a mask, with what it takes away hatched; grey ones need
    not be computed. One program's blocks are framed. Raises `ValueError` for more than 32 queries or keys, and for a program
    that there is not.

    >>> draw_score_blocks(6, 6, 2, 2, causal=True, program=1)
    <Picture: 6 × 6 scores in blocks of 2 × 2, causal: 6 of 9 blocks are computed, 3 of them with a mask; program 1 computes 2>
    """
    rows, columns = -(-n_queries // block_m), -(-n_keys // block_n)
    if max(n_queries, n_keys) > _MOST_SCORES or not 0 <= program < rows:
        raise ValueError(f"this picture holds up to {_MOST_SCORES} queries and keys, and one of {counted(rows, 'program')}")
    computed = masked = own = 0
    left, top, width, height = 3.4, 2.8, columns * block_n, rows * block_m
    canvas = Canvas(left + width + 1, top + height + 1.4, unit=0.22)
    for row in range(rows):
        for column in range(columns):
            places = [(i, j) for i in _block(row, block_m) for j in _block(column, block_n)]
            seen = {(i, j) for i, j in places if i < n_queries and j < n_keys and (j <= i or not causal)}
            needed = {(i, j) for i, j in places if j < n_keys and (j <= i or not causal)}
            computed += bool(seen)
            masked += bool(seen) and len(needed) < len(places)
            own += bool(seen) and row == program
            for i, j in places:
                on, whole = (i, j) in seen, len(needed) == len(places)
                fill = (_WHOLE if whole else _CUT) if on else IDLE
                hatch = "////" if seen and not on else None
                canvas.cell(left + j, top + i, fill=fill, line=0.3, edge="#999999", hatch=hatch)
            canvas.frame(left + column * block_n, top + row * block_m, block_n, block_m, line=0.9, edge="#555555")
    canvas.frame(left, top + program * block_m, own * block_n, block_m, line=2.8)
    kind = f"{n_queries} × {n_keys} scores in blocks of {block_m} × {block_n}{', causal' if causal else ''}"
    canvas.text(0, 0.2, f"{kind}: {computed} of {rows * columns} computed, {masked} with a mask", bold=True)
    canvas.text(left, top - 0.8, "keys", size=9)
    canvas.text(0, top + 0.5, "queries", size=9)
    canvas.text(left, top + height + 0.8, f"program {program} computes {counted(own, 'block')}, from left to right", size=9)
    return canvas.finish(
        f"{kind}: {computed} of {rows * columns} blocks are computed, {masked} of them with a mask; "
        f"program {program} computes {own}"
    )


def _block(number: int, size: int) -> range:
    return range(number * size, (number + 1) * size)
