"""Pictures of tiles of two dimensions: which lanes two masks leave on, and the walk along K of a product of matrices.

The pictures are computed from sizes alone; nothing is launched.
"""

from __future__ import annotations

from course_lib.figures.canvas import FAINT, IDLE, PAPER, Canvas, Picture, counted, programs_colour

_ROWS, _COLUMNS, _BOTH = (programs_colour(index) for index in range(3))


def draw_tile_mask(n_rows: int, n_cols: int, block_rows: int, block_cols: int, row: int = 0, column: int = 0) -> Picture:
    """The tile of program (`row`, `column`): its row numbers as a column, its column numbers as a row, and the mask of both.

    On the right, where the tile lies on the matrix. The lanes that are off are hatched.

    >>> draw_tile_mask(5, 7, 4, 4, 1, 1)
    <Picture: program (1, 1) on a 5 × 7 matrix in tiles of 4 × 4: 3 lanes on, 13 off>
    """
    rows = [row * block_rows + lane for lane in range(block_rows)]
    columns = [column * block_cols + lane for lane in range(block_cols)]
    on = sum(i < n_rows for i in rows) * sum(j < n_cols for j in columns)
    left, top, gap = 7.6, 3.2, 2.4
    grid = (max(-(-n_rows // block_rows), row + 1), max(-(-n_cols // block_cols), column + 1))
    beside, cell = left + block_cols + gap, 0.55
    width, height = (grid[axis] * block for axis, block in ((1, block_cols), (0, block_rows)))
    canvas = Canvas(beside + width * cell, max(top + block_rows, top + height * cell) + 0.3)
    canvas.text(0, 0.2, f"program ({row}, {column}): {counted(on, 'lane')} on, {block_rows * block_cols - on} off", bold=True)
    canvas.text(0, top - 0.9, f"columns[None, :] < {n_cols}", size=9, mono=True)
    canvas.text(0, top + 0.5, f"rows[:, None] < {n_rows}", size=9, mono=True)
    for y, i in enumerate(rows):
        _lane(canvas, left - 1.4, top + y, str(i), i < n_rows, _ROWS)
        for x, j in enumerate(columns):
            _lane(canvas, left + x, top + y, f"{i},{j}", i < n_rows and j < n_cols, _BOTH)
    for x, j in enumerate(columns):
        _lane(canvas, left + x, top - 1.4, str(j), j < n_cols, _COLUMNS)
    canvas.text(beside, top - 0.9, f"on the {n_rows} × {n_cols} matrix", size=9)
    for y in range(height):
        for x in range(width):
            mine = y // block_rows == row and x // block_cols == column
            place = (beside + x * cell, top + y * cell)
            inside = y < n_rows and x < n_cols
            fill = _BOTH if mine and inside else PAPER if inside else IDLE
            canvas.cell(*place, fill=fill, width=cell, height=cell, line=0.4, dashed=not inside)
    for first in range(grid[0]):
        for second in range(grid[1]):
            line = 2.6 if (first, second) == (row, column) else 1.2
            corner = (beside + second * block_cols * cell, top + first * block_rows * cell)
            canvas.frame(*corner, block_cols * cell, block_rows * cell, line=line)
    return canvas.finish(
        f"program ({row}, {column}) on a {n_rows} × {n_cols} matrix in tiles of {block_rows} × {block_cols}: "
        f"{counted(on, 'lane')} on, {block_rows * block_cols - on} off"
    )


def draw_k_walk(
    m: int, n: int, k: int, block_m: int, block_n: int, block_k: int, row: int = 0, column: int = 0, step: int = 0
) -> Picture:
    """What program (`row`, `column`) of a matrix product loads in one `step` of its loop along K.

    `a` is drawn to the left of the result, `b` above it, so that a tile of the result stands at the crossing of its rows of `a`
    and its columns of `b`. Places past the end of a matrix are hatched. Raises `ValueError` for a step that there is not.

    >>> draw_k_walk(6, 9, 10, 4, 4, 4, row=1, column=0, step=2)
    <Picture: step 2, 3 steps in all: k from 8 to 11, 2 of 4 exist; tile (1, 0) of a 6 × 9 result>
    """
    steps = -(-k // block_k)
    if not 0 <= step < steps:
        raise ValueError(f"K = {k} takes {counted(steps, 'step')} of {block_k}, and there is no step {step}")
    down, along, inner = (-(-size // block) * block for size, block in ((m, block_m), (n, block_n), (k, block_k)))
    gap, heading = 1.6, 2.4
    left, top = inner + gap, heading + inner + gap
    canvas = Canvas(left + along, top + down + 1.2)
    first = step * block_k
    told = f"k from {first} to {first + block_k - 1}, {min(block_k, k - first)} of {block_k} exist"
    canvas.text(0, 0.2, f"step {step}, {counted(steps, 'step')} in all: {told}", bold=True)
    own_rows = range(row * block_m, (row + 1) * block_m)
    own_columns = range(column * block_n, (column + 1) * block_n)
    now = range(first, first + block_k)
    for i in range(down):
        for j in range(inner):
            walked = "now" if i in own_rows and j in now else "own" if i in own_rows else ""
            _place(canvas, j, top + i, i < m and j < k, walked, _ROWS)
    for i in range(inner):
        for j in range(along):
            walked = "now" if j in own_columns and i in now else "own" if j in own_columns else ""
            _place(canvas, left + j, heading + i, i < k and j < n, walked, _COLUMNS)
    for i in range(down):
        for j in range(along):
            walked = "now" if i in own_rows and j in own_columns else ""
            _place(canvas, left + j, top + i, i < m and j < n, walked, _BOTH)
    canvas.frame(first, top + row * block_m, block_k, block_m)
    canvas.frame(left + column * block_n, heading + first, block_n, block_k)
    canvas.frame(left + column * block_n, top + row * block_m, block_n, block_m)
    canvas.text(0, top - 0.7, f"a: {m} × {k}", size=9)
    canvas.text(left, heading - 0.7, f"b: {k} × {n}", size=9)
    canvas.text(left, top + down + 0.7, f"result: {m} × {n}, tile ({row}, {column})", size=9)
    return canvas.finish(f"step {step}, {counted(steps, 'step')} in all: {told}; tile ({row}, {column}) of a {m} × {n} result")


def _lane(canvas: Canvas, x: float, y: float, words: str, works: bool, colour: str) -> None:
    """A lane with its number, hatched if it is off."""
    canvas.cell(x, y, words, fill=colour if works else IDLE, dashed=not works, hatch=None if works else "////")


def _place(canvas: Canvas, x: float, y: float, inside: bool, walked: str, colour: str) -> None:
    """An element of a matrix: loaded "now", on the program's "own" way at another time, or neither."""
    if not inside:
        canvas.cell(x, y, fill=IDLE, line=0.4, dashed=True, hatch="////")
        return
    canvas.cell(x, y, fill=colour if walked == "now" else _pale(colour) if walked else PAPER, line=0.4, edge=FAINT)


def _pale(colour: str) -> str:
    """The colour, two thirds of the way to white."""
    parts = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return "#" + "".join(f"{(part + 2 * 255) // 3:02x}" for part in parts)
