"""Which exercises a submission is asked for: those that the teacher chose, or else those that the submission itself names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from course_lib import catalog
from course_lib.catalog.model import Exercise, Lesson
from course_lib.grading.submissions import Submission

CHECKED = re.compile(r"""\bcheck\(\s*["'](\w+)["']""")
DEFINED = re.compile(r"^(?:def\s+(?=\w+\s*\()|(?=\w+\s*=[^=]))(\w+)", re.MULTILINE)


def chosen(lessons: Sequence[str], exercises: Sequence[str]) -> tuple[str, ...]:
    """The exercises of these lessons, given by name or number ("04"), and these exercises; in the order of the course.

    Raises `catalog.UnknownLesson` and `catalog.UnknownName`.
    """
    names = {catalog.exercise(name).name for name in exercises}
    return _in_order(names.union(*(_exercises_of(catalog.lesson(lesson)) for lesson in lessons)))


def asked(submission: Submission) -> tuple[str, ...]:
    """The exercises that a submission names, in the order of the course. The first of these that names any counts:

    its file's or folder's name, if that is a lesson's or an exercise's (nbgrader's folders are called by the assignment); cells
    that call `check("name", …)`; functions, or other values, that are given an exercise's name.
    """
    path = [part.rpartition(".")[0] or part for part in submission.name.split("/")]
    by_name = {lesson.name: _exercises_of(lesson) for lesson in catalog.LESSONS}
    known = _exercises_of(*catalog.LESSONS)
    by_path = {name for part in path for name in by_name.get(part, {part} & known)}
    return _in_order(by_path or named(submission.cells))


def named(cells: Sequence[str]) -> set[str]:
    """The exercises that a notebook's code checks, or else those that it defines."""
    text = "\n".join(cells)
    known = _exercises_of(*catalog.LESSONS)
    return known.intersection(CHECKED.findall(text)) or known.intersection(DEFINED.findall(text))


def lessons_of(names: Iterable[str]) -> tuple[Lesson, ...]:
    """The lessons that these exercises belong to, in the order of the course."""
    wanted = set(names)
    return tuple(lesson for lesson in catalog.LESSONS if wanted & {item.name for item in lesson.items})


def in_words(names: Sequence[str]) -> str:
    """These exercises, in few words where they are those of whole lessons.

    >>> in_words(["double", "vector_scale"]), in_words(["vector_scale", "program_ids"])
    ('double, vector_scale', '03_programs_and_grids')
    """
    lessons = lessons_of(names)
    whole = set(names) == _exercises_of(*lessons)
    return ", ".join(lesson.name for lesson in lessons) if whole else ", ".join(names)


def _exercises_of(*lessons: Lesson) -> set[str]:
    return {item.name for lesson in lessons for item in lesson.items if isinstance(item, Exercise)}


def _in_order(names: Iterable[str]) -> tuple[str, ...]:
    wanted = set(names)
    return tuple(item.name for item in catalog.items() if item.name in wanted)
