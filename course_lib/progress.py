"""What has been solved, and the hints: the meaning of the entries that `state.py` keeps.

Not here: judging (`checking/`), what the hints say (`catalog/`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from course_lib import state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from course_lib.catalog.model import Lesson


LEGEND = "✓ solved, · not yet"


class HintText(str):
    """A hint, or a word explained: a string that a notebook renders as Markdown, and a prompt without quotation marks."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Row:
    """One exercise or quiz in the table: its name, kind ("exercise" or "quiz"), and what is remembered of it."""

    name: str
    kind: str
    entry: state.Entry


@dataclass(frozen=True)
class LessonProgress:
    """One lesson in the table."""

    name: str
    title: str
    rows: tuple[Row, ...]

    def count(self, kind: str) -> str:
        """How many of the kind are solved.

        >>> LessonProgress("00_start_here", "Start here", (Row("double", "exercise", state.Entry()),)).count("exercise")
        '0 of 1'
        """
        mine = [row for row in self.rows if row.kind == kind]
        return f"{sum(row.entry.solved for row in mine)} of {len(mine)}" if mine else "–"


@dataclass(frozen=True)
class Progress:
    """What is solved, lesson by lesson; shows itself in a notebook."""

    lessons: tuple[LessonProgress, ...]

    @property
    def solved(self) -> int:
        return sum(row.entry.solved for lesson in self.lessons for row in lesson.rows)

    @property
    def total(self) -> int:
        return sum(len(lesson.rows) for lesson in self.lessons)

    @property
    def summary(self) -> str:
        return f"Solved: {self.solved} of {self.total}"

    def __repr__(self) -> str:
        lines = [f"{self.summary} ({LEGEND})"]
        for lesson in self.lessons:
            counts = f"exercises {lesson.count('exercise')}, quizzes {lesson.count('quiz')}"
            lines.append(f"{lesson.name}: {lesson.title} ({counts})")
            lines += [f"  {mark(row)} {row.name}{remark(row)}" for row in lesson.rows]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        def line(lesson: LessonProgress) -> str:
            title = f"{escape(lesson.name)}<br>{escape(lesson.title)}"
            names = "<br>".join(escape(f"{mark(row)} {row.name}{remark(row)}") for row in lesson.rows)
            cells = (title, lesson.count("exercise"), lesson.count("quiz"), names)
            return "<tr>" + "".join(f'<td style="text-align: left">{cell}</td>' for cell in cells) + "</tr>"

        columns = ("lesson", "exercises", "quizzes", LEGEND)
        head = "".join(f'<th style="text-align: left">{column}</th>' for column in columns)
        body = "".join(map(line, self.lessons))
        return f"<p><b>{self.summary}</b></p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def mark(row: Row) -> str:
    """✓ for solved, · for not yet."""
    return "✓" if row.entry.solved else "·"


def remark(row: Row) -> str:
    """What else is worth saying about a row, for example " (quiz, 2 attempts, 1 hint)"; empty if nothing is."""
    counts = (("attempt", row.entry.attempts), ("hint", row.entry.hints))
    parts = [f"{number} {what}{'s' if number > 1 else ''}" for what, number in counts if number]
    parts = ["quiz", *parts] if row.kind == "quiz" else parts
    return f" ({', '.join(parts)})" if parts else ""


def record(name: str, passed: bool) -> None:
    """Remember an attempt; what was solved once stays solved. Never raises for a bad progress file."""

    def attempted(entry: state.Entry) -> state.Entry:
        solved = entry.solved or passed
        return replace(
            entry,
            solved=solved,
            first_solved=entry.first_solved or (_today() if solved else None),
            attempts=entry.attempts + 1,
        )

    state.update(name, attempted)


def hint(name: str) -> str:
    """The next hint for an exercise or quiz; after the last one, all of them and where the worked solution is.

    Raises `course_lib.catalog.UnknownName`, with the nearest names, for one that is not in the course.
    """
    from course_lib import catalog

    item = catalog.find(name)
    texts = [step.text for step in item.hints if step.asked]
    before, after = state.update(name, lambda entry: replace(entry, hints=min(entry.hints + 1, len(texts))))
    if after.hints > before.hints:
        return HintText(f"Hint {after.hints} of {len(texts)} for `{name}`: {texts[after.hints - 1]}")
    again = "\n".join(f"{number}. {text}" for number, text in enumerate(texts, 1))
    lesson = next(lesson for lesson in catalog.LESSONS if lesson.name == item.lesson)
    written = lesson.written and any(one.kind == "exercise" for one in lesson.items)
    where = f"The worked solution is in `solutions/{item.lesson}.ipynb`. " if written else ""
    return HintText(f"That was the last hint for `{name}`. {where}The hints again:\n\n{again}")


def progress() -> Progress:
    """A table of what is solved, lesson by lesson."""
    from course_lib import catalog

    return table(catalog.LESSONS, state.load())


def table(lessons: Sequence[Lesson], remembered: state.State) -> Progress:
    """The table for these lessons: pure. What is remembered of exercises that are no longer there is left out.

    A lesson that is not written yet appears once something of it is solved.
    """
    rows = {
        lesson.name: tuple(Row(item.name, item.kind, remembered.get(item.name, state.Entry())) for item in lesson.items)
        for lesson in lessons
    }
    shown = [lesson for lesson in lessons if lesson.written or any(row.entry.solved for row in rows[lesson.name])]
    return Progress(tuple(LessonProgress(lesson.name, lesson.title, rows[lesson.name]) for lesson in shown))


def _today() -> str:
    from datetime import date

    return date.today().isoformat()
