"""A picture of what a class got wrong: a group of bars for each exercise, one bar for those who passed and one a mistake."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten

from matplotlib.ticker import MaxNLocator

from course_lib.figures.canvas import ALARM, FAINT, INK, Picture
from course_lib.grading.mistakes import Tally, in_words

PASSED = "#3a9a78"
MOST_MISTAKES = 4
"""Mistakes that are drawn of an exercise; how many others there are stands below them."""


def draw_mistakes(tallies: Sequence[Tally]) -> Picture:
    """How many students passed each exercise, and the commonest mistakes of the others.

    Raises `ValueError` if there is no exercise.
    """
    if not tallies:
        raise ValueError("there is no exercise to draw")
    rows = [row for one in tallies for row in (*_bars(one), None)][:-1]
    picture = Picture(figsize=(9.0, 1.0 + 0.27 * len(rows)), layout="constrained")
    axes = picture.subplots()
    for place, row in enumerate(rows):
        if row:
            _, count, colour = row
            axes.barh(place, count, color=colour, height=0.7)
            axes.annotate(str(count), (count, place), (4, 0), textcoords="offset points", va="center", fontsize=9, color=INK)
    places = [place for place, row in enumerate(rows) if row]
    axes.set_yticks(places, [row[0] for row in rows if row], fontsize=9)
    for label, row in zip(axes.get_yticklabels(), filter(None, rows), strict=True):
        label.set(fontweight="bold" if row[2] == PASSED else "normal", color=INK if row[2] == PASSED else FAINT)
    axes.set(ylim=(len(rows) - 0.4, -0.6), xlim=(0, 1.08 * max(row[1] for row in filter(None, rows))), xlabel="students")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
    picture.alt = "; ".join(f"{one.exercise}: {one.passed} of {one.asked} passed" for one in tallies)
    return picture


def _bars(one: Tally) -> list[tuple[str, int, str]]:
    """Words, students and colour of each of an exercise's bars."""
    bars = [(f"{one.exercise}: {one.passed} of {one.asked} passed", one.passed, PASSED)]
    bars += [(shorten(in_words(kind), 60, placeholder=" …"), count, ALARM) for kind, count in one.mistakes[:MOST_MISTAKES]]
    rest = one.mistakes[MOST_MISTAKES:]
    return bars + (
        [(f"{len(rest)} other mistake{'s' if len(rest) > 1 else ''}", sum(count for _, count in rest), ALARM)] if rest else []
    )
