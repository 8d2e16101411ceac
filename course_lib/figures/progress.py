"""A picture of what a learner has solved: each lesson a row, each exercise a square and each quiz a round cell."""

from __future__ import annotations

from matplotlib.patches import Circle

from course_lib.figures.canvas import FAINT, IDLE, INK, PAPER, Canvas, Picture, ink_on
from course_lib.progress import LessonProgress, Progress, Row

SOLVED, TRIED = "#3a9a78", "#f2b134"
"""Fills of a cell. Each also has a mark of its own, so no meaning rests on colour alone."""
MARKS = {SOLVED: "✓", TRIED: "~"}
_LABEL, _TOTAL, _STEP, _ROW = 11.0, 3.0, 1.12, 1.3


def draw_progress(progress: Progress) -> Picture:
    """All lessons of `progress`, with totals: a ✓ where an exercise or quiz is solved, a ~ where it was tried.

    Raises `ValueError` if there is no lesson.
    """
    if not progress.lessons:
        raise ValueError("there is no lesson to draw")
    most = max(len(lesson.rows) for lesson in progress.lessons)
    canvas = Canvas(_LABEL + max(most, 12) * _STEP + _TOTAL, 4.4 + _ROW * len(progress.lessons))
    canvas.text(0, 0.3, progress.summary, size=12, bold=True)
    rows = [row for lesson in progress.lessons for row in lesson.rows]
    everything = LessonProgress("", "", tuple(rows))
    canvas.text(0, 1.5, f"exercises: {everything.count('exercise')}, quizzes: {everything.count('quiz')}", ink=FAINT)
    for number, lesson in enumerate(progress.lessons):
        _lesson(canvas, 2.6 + _ROW * number, lesson)
    _legend(canvas, 3.4 + _ROW * len(progress.lessons))
    tried = sum(_fill(row) == TRIED for row in rows)
    return canvas.finish(f"{progress.summary}, {tried} more tried, in {len(progress.lessons)} lessons")


def _lesson(canvas: Canvas, y: float, lesson: LessonProgress) -> None:
    solved = sum(row.entry.solved for row in lesson.rows)
    done = 0 < solved == len(lesson.rows)
    canvas.text(0, y + 0.5, f"{lesson.name[:2]}  {lesson.title}", size=9, bold=done)
    for place, row in enumerate(lesson.rows):
        _mark(canvas, _LABEL + place * _STEP, y, row.kind, _fill(row))
    end = _LABEL + len(lesson.rows) * _STEP
    canvas.text(end + 0.4, y + 0.5, f"{solved} of {len(lesson.rows)}", size=8, bold=done, ink=INK if solved else FAINT)


def _fill(row: Row) -> str:
    if row.entry.solved:
        return SOLVED
    return TRIED if row.entry.attempts else IDLE


def _mark(canvas: Canvas, x: float, y: float, kind: str, fill: str) -> None:
    """One cell: a square for an exercise, a round one for a quiz."""
    edge = "#555555" if fill != IDLE else "#b4b4b4"
    if kind == "quiz":
        round_cell = Circle((x + 0.5, y + 0.5), 0.5, facecolor=fill, edgecolor=edge, linewidth=0.7)
        canvas.axes.add_patch(round_cell)
        canvas.text(x + 0.5, y + 0.5, MARKS.get(fill, ""), align="center", size=canvas.small + 2.5, ink=ink_on(fill))
    else:
        canvas.cell(x, y, MARKS.get(fill, ""), fill=fill, edge=edge, size=canvas.small + 2.5)


def _legend(canvas: Canvas, y: float) -> None:
    x = 0.0
    keys = (
        ("exercise", PAPER, "an exercise"),
        ("quiz", PAPER, "a quiz"),
        ("exercise", SOLVED, "solved"),
        ("exercise", TRIED, "tried"),
        ("exercise", IDLE, "not yet"),
    )
    for kind, fill, words in keys:
        _mark(canvas, x, y, kind, fill)
        canvas.text(x + 1.3, y + 0.5, words, size=8.5)
        x += 2.6 + 0.55 * len(words)
