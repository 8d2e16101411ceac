"""Pictures of a tensor cut into blocks: which program has which element, and which lanes are masked off.

The pictures are computed from sizes alone. `accesses.py` draws what a kernel really did.
"""

from __future__ import annotations

from course_lib.figures.canvas import ALARM, FAINT, IDLE, PAPER, Canvas, Picture, counted, programs_colour

_LINE = 32


def draw_blocks(n: int, block_size: int, n_programs: int | None = None) -> Picture:
    """A vector of `n` elements cut into blocks of `block_size`, one block a program.

    `n_programs` is the number of programs launched; left out, it's as many as are needed. Lanes past the end are
    hatched; elements that no program has are marked.

    >>> draw_blocks(10, 4)
    <Picture: 10 elements in blocks of 4: 3 programs, 2 lanes past the end, 0 elements without a program>
    """
    launched = -(-n // block_size) if n_programs is None else n_programs
    covered = launched * block_size
    total = max(covered, n)
    per_line = block_size * max(1, _LINE // block_size) if block_size <= _LINE else _LINE
    lines = -(-total // per_line)
    missing, spare = max(0, n - covered), max(0, covered - n)
    canvas = Canvas(min(per_line, max(total, 1)), 0.8 + lines * 2.1)
    words = f"{counted(n, 'element')}, blocks of {block_size}: {counted(launched, 'program')}"
    if spare:
        words += f", {counted(spare, 'lane')} past the end (hatched)"
    if missing:
        words += f", {counted(missing, 'element')} that no program has (!)"
    canvas.text(0, 0.2, words, bold=True)

    def at(offset: int) -> tuple[float, float]:
        return offset % per_line, 1.9 + offset // per_line * 2.1

    for offset in range(total):
        if offset >= covered:
            canvas.cell(*at(offset), "!", edge=ALARM, line=1.4, bold=True)
        elif offset >= n:
            canvas.cell(*at(offset), fill=IDLE, hatch="////", dashed=True)
        else:
            canvas.cell(*at(offset), str(offset), fill=programs_colour(offset // block_size))
    width = min(block_size, per_line)
    for program in range(launched):
        for first in range(program * block_size, (program + 1) * block_size, per_line):
            canvas.frame(*at(first), width, 1, line=1.6)
        x, y = at(program * block_size)
        label = f"program {program}" if width * canvas.unit > 0.75 else str(program)
        canvas.text(x + width / 2, y - 0.42, label, align="center", size=8.5)
    return canvas.finish(
        f"{counted(n, 'element')} in blocks of {block_size}: {counted(launched, 'program')}, "
        f"{counted(spare, 'lane')} past the end, {counted(missing, 'element')} without a program"
    )


def draw_grid(n_rows: int, n_cols: int, block_rows: int, block_cols: int) -> Picture:
    """A matrix cut into tiles, one program each, on a grid of two axes: axis 0 runs down, axis 1 to the right.

    >>> draw_grid(5, 7, 1, 4)
    <Picture: a 5 × 7 matrix in tiles of 1 × 4: grid (5, 2)>
    """
    grid = (-(-n_rows // block_rows), -(-n_cols // block_cols))
    rows, columns = grid[0] * block_rows, grid[1] * block_cols
    left, top = 3.2, 2.6
    canvas = Canvas(left + columns, top + rows + 0.2)
    canvas.text(0, 0.2, f"{n_rows} × {n_cols} elements, tiles of {block_rows} × {block_cols}: grid {grid}", bold=True)
    for row in range(rows):
        for column in range(columns):
            place = (left + column, top + row)
            if row >= n_rows or column >= n_cols:
                canvas.cell(*place, fill=IDLE, hatch="////", dashed=True)
            else:
                canvas.cell(*place, fill=programs_colour(row // block_rows * grid[1] + column // block_cols))
    for first in range(grid[0]):
        for second in range(grid[1]):
            x, y = left + second * block_cols, top + first * block_rows
            canvas.frame(x, y, block_cols, block_rows, line=1.6)
            right, bottom = (min(size, end) for size, end in ((block_cols, left + n_cols - x), (block_rows, top + n_rows - y)))
            colour = programs_colour(first * grid[1] + second)
            middle = (x + right / 2, y + bottom / 2)
            canvas.text(*middle, f"{first}, {second}", align="center", size=8.5, bold=True, backed=colour)
    for second in range(grid[1]):
        canvas.text(left + (second + 0.5) * block_cols, top - 0.45, str(second), align="center", ink=FAINT)
    for first in range(grid[0]):
        canvas.text(left - 0.45, top + (first + 0.5) * block_rows, str(first), align="center", ink=FAINT)
    canvas.text(left, top - 1.2, "axis 1 →", size=9)
    canvas.text(0, top + 0.5, "axis 0 ↓", size=9)
    return canvas.finish(f"a {n_rows} × {n_cols} matrix in tiles of {block_rows} × {block_cols}: grid {grid}")


def draw_mask(n: int, block_size: int, program: int) -> Picture:
    """One program's block, lane by lane: the lane, its offset, and whether the mask `offset < n` lets it through.

    >>> draw_mask(21, 8, 2)
    <Picture: program 2 of blocks of 8 over 21 elements: lanes [5, 6, 7] are masked off>
    """
    left = 6.2
    canvas = Canvas(left + block_size, 5.2)
    offsets = [program * block_size + lane for lane in range(block_size)]
    off = [lane for lane, offset in enumerate(offsets) if offset >= n]
    canvas.text(0, 0.2, f"program {program}: {block_size - len(off)} lanes work, {len(off)} are masked off", bold=True)
    for row, words in enumerate(("lane", f"offset = {program}·{block_size} + lane", f"mask = offset < {n}")):
        canvas.text(0, 1.9 + row * 1.2, words, size=9)
    for lane, offset in enumerate(offsets):
        works = offset < n
        fill = programs_colour(program) if works else IDLE
        canvas.text(left + lane + 0.5, 1.9, str(lane), align="center", size=canvas.small, ink=FAINT)
        canvas.cell(left + lane, 2.6, str(offset), fill=fill, dashed=not works)
        hatch = None if works else "////"
        canvas.cell(left + lane, 3.8, "on" if works else "off", fill=fill, dashed=not works, hatch=hatch)
    return canvas.finish(f"program {program} of blocks of {block_size} over {n} elements: lanes {off or 'none'} are masked off")


def draw_row_schedule(n_rows: int, n_programs: int) -> Picture:
    """Which rows a fixed number of programs takes, and in which turn of its loop: p, p + P, p + 2P, ….

    >>> draw_row_schedule(10, 4)
    <Picture: 10 rows, 4 programs: [0, 4, 8], [1, 5, 9], [2, 6], [3, 7]>
    """
    if not (0 < n_programs <= 16 and 0 <= n_rows <= 24):
        raise ValueError(f"this picture holds 24 rows and 16 programs, not {n_rows} rows and {n_programs} programs")
    schedule = [list(range(program, n_rows, n_programs)) for program in range(n_programs)]
    turns = -(-n_rows // n_programs)
    left = 3.2
    wide, name = (2.0, "row ") if turns <= 10 else (1.0, "")
    canvas = Canvas(max(n_rows, left + turns * wide), 4.6 + n_programs * 1.15)
    words = f"{counted(n_rows, 'row')}, {counted(n_programs, 'program')}: a program's next row is {n_programs} further on"
    canvas.text(0, 0.2, words, bold=True)
    canvas.text(0, 1.2, "the rows, numbered by the program that takes them", size=9)
    for row in range(n_rows):
        canvas.cell(row, 1.7, str(row % n_programs), fill=programs_colour(row % n_programs))
    canvas.text(0, 3.9, "turn of the loop", size=8.5, ink=FAINT)
    for turn in range(turns):
        canvas.text(left + (turn + 0.5) * wide, 3.9, f"{turn}", align="center", size=8.5, ink=FAINT)
    for program, rows in enumerate(schedule):
        y = 4.4 + program * 1.15
        canvas.text(0, y + 0.5, f"program {program}", size=9)
        for turn in range(turns):
            x = left + turn * wide
            if turn < len(rows):
                canvas.cell(x, y, f"{name}{rows[turn]}", width=wide, fill=programs_colour(program), size=8.5)
            else:
                done = "done" if wide > 1 else ""
                canvas.cell(x, y, done, width=wide, fill=PAPER, dashed=True, edge="#aaaaaa", size=8)
    return canvas.finish(f"{counted(n_rows, 'row')}, {counted(n_programs, 'program')}: {', '.join(map(str, schedule))}")
