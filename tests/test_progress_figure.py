"""The picture of what was solved, drawn from values made by hand: its totals, marks and words."""

from __future__ import annotations

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patches import Circle, Rectangle
from matplotlib.text import Text

from course_lib import catalog
from course_lib.figures import draw_progress
from course_lib.figures.canvas import Picture
from course_lib.progress import LessonProgress, Progress, Row, table
from course_lib.state import Entry

SOLVED, TRIED, NEW = Entry(solved=True, attempts=2), Entry(attempts=1), Entry()
SOME = Progress(
    (
        LessonProgress("00_start", "Start", (Row("a", "quiz", SOLVED), Row("b", "exercise", SOLVED))),
        LessonProgress("01_next", "Next", (Row("c", "quiz", TRIED), Row("d", "exercise", SOLVED), Row("e", "exercise", NEW))),
    )
)
LEGEND_CELLS, LEGEND_ROUND = 4, 1
NAMES = [item.name for item in catalog.items()]


def words(picture: Picture) -> list[str]:
    return [text.get_text() for text in picture.findobj(Text) if text.get_text()]


def test_totals_and_each_lessons_count_are_told() -> None:
    picture = draw_progress(SOME)
    assert picture.alt == "Solved: 3 of 5, 1 more tried, in 2 lessons"
    assert {"Solved: 3 of 5", "exercises: 2 of 3, quizzes: 1 of 2", "00  Start", "2 of 2", "1 of 3"} <= set(words(picture))


def test_exercises_are_square_and_quizzes_round() -> None:
    axes = draw_progress(SOME).axes[0]
    assert sum(isinstance(patch, Circle) for patch in axes.patches) == 2 + LEGEND_ROUND
    assert sum(isinstance(patch, Rectangle) for patch in axes.patches) == 3 + LEGEND_CELLS


def test_marks_tell_solved_from_tried_without_colour() -> None:
    shown = words(draw_progress(SOME))
    assert shown.count("✓") == 3 + 1
    assert shown.count("~") == 1 + 1


def test_a_lesson_that_is_done_stands_out() -> None:
    bold = {text.get_text() for text in draw_progress(SOME).findobj(Text) if text.get_fontweight() == "bold"}
    assert bold == {"Solved: 3 of 5", "00  Start", "2 of 2"}


def test_nothing_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="no lesson"):
        draw_progress(Progress(()))


@pytest.mark.parametrize(
    "remembered",
    [{}, dict.fromkeys(NAMES[::2], SOLVED) | dict.fromkeys(NAMES[1::4], TRIED), dict.fromkeys(NAMES, SOLVED)],
    ids=["empty", "half", "full"],
)
def test_the_whole_course_fits_on_the_sheet(remembered: dict[str, Entry]) -> None:
    picture = draw_progress(table(catalog.LESSONS, remembered))
    FigureCanvasAgg(picture)
    picture.draw_without_rendering()
    width, height = picture.bbox.size
    for text in picture.findobj(Text):
        if text.get_text():
            box = text.get_window_extent()
            assert 0 <= box.x0 <= box.x1 <= width, text.get_text()
            assert 0 <= box.y0 <= box.y1 <= height, text.get_text()
