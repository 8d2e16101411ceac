"""What is asked: the lessons in order, and their exercises and quizzes by name.

To add an exercise, add a value to its lesson's module; to add a lesson, add a module and name it in `LESSONS`. The
order here is the order of the course.

>>> from course_lib import catalog
>>> catalog.find("vector_add").lesson
'04_loads_stores_masks'
"""

from __future__ import annotations

import difflib

from course_lib.catalog import (
    lesson_00,
    lesson_01,
    lesson_02,
    lesson_03,
    lesson_04,
    lesson_05,
    lesson_06,
    lesson_07,
    lesson_08,
    lesson_09,
    lesson_10,
    lesson_11,
    lesson_12,
    lesson_13,
    lesson_14,
    lesson_15,
    lesson_16,
)
from course_lib.catalog.model import Exercise, Lesson, Quiz
from course_lib.errors import PlainError

LESSONS: tuple[Lesson, ...] = (
    lesson_00.LESSON,
    lesson_01.LESSON,
    lesson_02.LESSON,
    lesson_03.LESSON,
    lesson_04.LESSON,
    lesson_05.LESSON,
    lesson_06.LESSON,
    lesson_07.LESSON,
    lesson_08.LESSON,
    lesson_09.LESSON,
    lesson_10.LESSON,
    lesson_11.LESSON,
    lesson_12.LESSON,
    lesson_13.LESSON,
    lesson_14.LESSON,
    lesson_15.LESSON,
    lesson_16.LESSON,
)


class UnknownName(PlainError, LookupError):
    """There is no exercise or quiz of this name; the message lists the nearest names."""


class UnknownLesson(PlainError, LookupError):
    """There is no lesson of this name or number; the message lists the nearest names."""


def lesson(asked_for: str) -> Lesson:
    """The lesson of this name ("04_loads_stores_masks") or number ("04", "4"). Raises `UnknownLesson`."""
    for one in LESSONS:
        if asked_for == one.name or asked_for.zfill(2) == one.name.partition("_")[0]:
            return one
    names = [one.name for one in LESSONS]
    near = difflib.get_close_matches(asked_for, names, n=3, cutoff=0.5)
    advice = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(names)}. Their numbers will do."
    raise UnknownLesson(f"There is no lesson {asked_for!r}. {advice}")


def items() -> tuple[Exercise | Quiz, ...]:
    """Every exercise and quiz, in the order of the course."""
    return tuple(item for lesson in LESSONS for item in lesson.items)


def find(name: str) -> Exercise | Quiz:
    """The exercise or quiz called `name`. Raises `UnknownName` with the nearest names of written lessons otherwise."""
    by_name = {item.name: item for item in items()}
    if isinstance(name, str) and name in by_name:
        return by_name[name]
    offered = [item.name for lesson in LESSONS if lesson.written for item in lesson.items]
    near = difflib.get_close_matches(str(name), offered, n=3, cutoff=0.7)
    advice = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are: {', '.join(offered)}."
    raise UnknownName(f"There is no exercise or quiz called {name!r}. {advice}")


def exercise(name: str) -> Exercise:
    """The exercise called `name`; a quiz of that name is an error that says so."""
    item = find(name)
    if isinstance(item, Quiz):
        raise UnknownName(f"{name!r} is a quiz, not an exercise: answer it with quiz({name!r}, …).")
    return item


def quiz(name: str) -> Quiz:
    """The quiz called `name`; an exercise of that name is an error that says so."""
    item = find(name)
    if isinstance(item, Exercise):
        raise UnknownName(f"{name!r} is an exercise, not a quiz: judge it with check({name!r}, …).")
    return item
