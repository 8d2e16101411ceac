"""INDEX.md, built from the catalogue: every lesson with its exercises and quizzes, and the glossary with its lessons.

python -m tools.build            writes it with the notebooks
python -m tools.build --check    says whether it is in step with the catalogue
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from course_lib.catalog.glossary import Term
from course_lib.catalog.model import Exercise, Lesson, Quiz

NAME = "INDEX.md"
HEAD = """\
# Index

Every lesson with its exercises and quizzes, and the words of the course. In a terminal, `course glossary mask` says what a
word means, and `course hint double` helps with an exercise or quiz; in a notebook, `glossary("mask")` and `hint("double")` of
`course_lib` do. (This page is built from `course_lib/catalog/` by `make build`, so change things there.)
"""


def page(lessons: Sequence[Lesson], terms: Sequence[Term]) -> str:
    """The whole page as Markdown. Lessons that are not written yet are left out.

    Raises `ValueError` for a term whose lesson is not there.
    """
    written = [lesson for lesson in lessons if lesson.written]
    parts = [HEAD, "## Lessons, exercises and quizzes\n", *map(_lesson, written)]
    parts += [
        "## Words\n",
        "| word | meaning | in CUDA | lesson |\n|---|---|---|---|",
        *(_term(term, written) for term in terms),
    ]
    return "\n".join(parts) + "\n"


def write(root: Path, text: str) -> None:
    """Store the page where learners find it."""
    (root / NAME).write_text(text, encoding="utf-8")


def faults(root: Path, text: str) -> list[str]:
    """What is out of step between the stored page and `text`; empty when nothing is."""
    path = root / NAME
    if not path.exists():
        return [f"{NAME} is missing; run `make build`."]
    stored = path.read_text(encoding="utf-8")
    if stored == text:
        return []
    lines = zip(stored.splitlines(), text.splitlines(), strict=False)
    place = next((number for number, (have, want) in enumerate(lines, 1) if have != want), None)
    where = "its end" if place is None else f"line {place}"
    return [f"{NAME} is out of step with the catalogue, from {where} on; run `make build`."]


def first_sentence(text: str) -> str:
    """The first sentence of a statement.

    >>> first_sentence("Return `x.sum()` of it. `x` may be empty.")
    'Return `x.sum()` of it.'
    """
    return re.split(r"(?<=[.?]) (?=[A-Z`(])", text, maxsplit=1)[0]


def _lesson(lesson: Lesson) -> str:
    exercises = [item for item in lesson.items if isinstance(item, Exercise)]
    quizzes = [item for item in lesson.items if isinstance(item, Quiz)]
    lines = [f"### {lesson.name[:2]} [{lesson.title}](notebooks/{lesson.name}.ipynb) ({lesson.minutes} minutes)\n"]
    if quizzes:
        lines.append(f"Quizzes: {', '.join(f'`{quiz.name}`' for quiz in quizzes)}\n")
    if exercises:
        links = " and ".join(f"[{folder}]({folder}/{lesson.name}.ipynb)" for folder in ("exercises", "solutions"))
        lines.append(f"Exercises, in {links}:\n")
        lines += [f"- `{one.signature}`: {first_sentence(one.statement)}" for one in exercises]
        lines.append("")
    return "\n".join(lines)


def _term(term: Term, lessons: Sequence[Lesson]) -> str:
    lesson = next((lesson for lesson in lessons if lesson.name.startswith(term.lesson)), None)
    if lesson is None:
        raise ValueError(f"the glossary says that lesson {term.lesson!r} introduces {term.name!r}, and there is no such lesson")
    cells = (term.name, term.meaning, term.cuda, f"[{term.lesson}](notebooks/{lesson.name}.ipynb)")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
