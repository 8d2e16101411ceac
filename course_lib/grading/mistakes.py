"""What a class got wrong: for each exercise, how many students passed, and how many made which mistake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from course_lib.checking.findings import KINDS
from course_lib.grading.gradebook import Result, Student, exercises


@dataclass(frozen=True)
class Tally:
    """One exercise: how many students were asked and how many passed, and the mistakes of the others, the commonest first.

    A mistake is the kind of the first finding (`findings.KINDS`), or a status such as "not done yet".
    """

    exercise: str
    asked: int
    passed: int
    mistakes: tuple[tuple[str, int], ...]


def tally(class_: Sequence[Student]) -> list[Tally]:
    """The tally of every exercise, in the order of the course; of each student's results, that which counts."""
    return [_of_exercise(name, [one.results[name] for one in class_ if name in one.results]) for name in exercises(class_)]


def in_words(mistake: str) -> str:
    """What a mistake is, in a few words.

    >>> in_words("race"), in_words("not found")
    ('two programs touch the same element and one of them writes', 'not found')
    """
    return KINDS.get(mistake, mistake).replace("`", "")


def _of_exercise(name: str, results: Sequence[Result]) -> Tally:
    passed = sum(result["status"] == "passed" for result in results)
    counts = Counter(_mistake(result) for result in results if result["status"] != "passed")
    return Tally(name, len(results), passed, tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0]))))


def _mistake(result: Result) -> str:
    return result["report"]["findings"][0]["kind"] if result["status"] == "wrong" else result["status"]
