"""A picture of the sums of a LayerNorm's backward pass: along each row, and down each column by way of partial sums."""

from __future__ import annotations

from course_lib.figures.canvas import FAINT, IDLE, Canvas, Picture, counted, programs_colour


def draw_sums(n_rows: int, n_cols: int, n_programs: int) -> Picture:
    """A matrix whose rows are shared out to programs: what is summed along a row stays with its program; what is summed down a
    column goes into a row of partial sums for each program, and these are added up by a second kernel.

    Raises `ValueError` unless there are 4 to 24 rows, 1 to 24 columns, and 1 to 8 programs, but no more than rows.

    >>> draw_sums(7, 5, 3)
    <Picture: 7 rows of 5 columns, 3 programs: sums along 7 rows, 3 rows of partial sums, 5 sums down the columns>
    """
    if not (4 <= n_rows <= 24 and 1 <= n_cols <= 24 and 1 <= n_programs <= min(8, n_rows)):
        raise ValueError(f"{n_rows} × {n_cols} elements and {n_programs} programs do not fit into this picture")
    left, top, gap, wide = 4.5, 1.8, 2.2, 1.1
    parts_top = top + n_rows + gap
    total_top = parts_top + n_programs + gap
    beside = left + n_cols * wide + 2.2
    canvas = Canvas(beside + 9.5, total_top + 1.3)
    canvas.text(0, 0.2, f"{counted(n_rows, 'row')}, {counted(n_programs, 'program')}", bold=True)
    for row in range(n_rows):
        _line(canvas, left, top + row, n_cols, wide, row % n_programs, f"row {row}: program {row % n_programs}")
        middle = top + row + 0.5
        canvas.arrow((left + n_cols * wide + 0.2, middle), (beside - 0.2, middle))
        canvas.cell(beside, top + row, fill=programs_colour(row % n_programs))
    canvas.text(beside + 1.4, top + 0.5, "along a row:", size=9, bold=True)
    for line, words in enumerate(("mean and variance of x,", "means of g and of g · x̂:", "one program has it all"), 1):
        canvas.text(beside + 1.4, top + 0.5 + line, words, size=9)
    for part in range(n_programs):
        _line(canvas, left, parts_top + part, n_cols, wide, part, f"part {part}")
    canvas.text(beside, parts_top + 0.5, "first kernel: each program", size=9)
    canvas.text(beside, parts_top + 1.5, "writes a row of its own", size=9)
    for col in range(n_cols):
        middle = left + (col + 0.5) * wide
        canvas.arrow((middle, top + n_rows + 0.2), (middle, parts_top - 0.2))
        canvas.arrow((middle, parts_top + n_programs + 0.2), (middle, total_top - 0.2))
        canvas.cell(left + col * wide, total_top, fill=IDLE, width=wide)
    canvas.text(left - 0.4, total_top + 0.5, "dweight", size=9, align="right")
    canvas.text(beside, total_top + 0.5, "second kernel", size=9)
    canvas.text(beside, top + n_rows + gap / 2, "down a column: dweight, dbias", size=9, bold=True)
    return canvas.finish(
        f"{counted(n_rows, 'row')} of {counted(n_cols, 'column')}, {counted(n_programs, 'program')}: sums along "
        f"{counted(n_rows, 'row')}, {counted(n_programs, 'row')} of partial sums, {counted(n_cols, 'sum')} down the columns"
    )


def _line(canvas: Canvas, x: float, y: float, n_cols: int, wide: float, program: int, words: str) -> None:
    """A row of cells in a program's colour, with words on its left."""
    canvas.text(x - 0.4, y + 0.5, words, size=8, align="right", ink=FAINT)
    for col in range(n_cols):
        canvas.cell(x + col * wide, y, fill=programs_colour(program), width=wide)
