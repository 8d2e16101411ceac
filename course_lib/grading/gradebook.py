"""Records as a gradebook: one row a student."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from course_lib import catalog
from course_lib.grading.asked import in_words
from course_lib.grading.records import IN_WORDS

Record = Mapping[str, Any]
Result = Mapping[str, Any]
NOT_HANDED_IN = "-"
"""Stands for 0 points where there is no answer at all: a spreadsheet's sums and averages pass over it."""
POSSIBLE = "Points possible"
WORTH_SAYING = ("not done yet", "cannot be read", "not judged")
FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Student:
    """What a student has handed in, and the result that counts of each exercise: of several, the best, and then the first."""

    name: str
    records: tuple[Record, ...]

    @cached_property
    def results(self) -> dict[str, Result]:
        return {name: results[0][1] for name, results in self.all_results.items()}

    @cached_property
    def all_results(self) -> dict[str, list[tuple[Record, Result]]]:
        """All results of each exercise, in the order of the course, with the records that they are in; the first counts."""
        by_name: dict[str, list[tuple[Record, Result]]] = {}
        for record in self.records:
            for result in record["results"]:
                by_name.setdefault(result["exercise"], []).append((record, result))
        best_first = {name: sorted(found, key=lambda one: _rank(one[1]), reverse=True) for name, found in by_name.items()}
        return {item.name: best_first[item.name] for item in catalog.items() if item.name in best_first}

    @property
    def total(self) -> int:
        return sum(result["points"] for result in self.results.values())

    @property
    def of(self) -> int:
        return sum(result["of"] for result in self.results.values())

    @property
    def notes(self) -> list[str]:
        """What a teacher should know: files that could not be read, exercises that are not there, or there several times."""
        said = [f"{record['submission']}: {note}" for record in self.records for note in record["notes"]]
        missing = [name for name, result in self.results.items() if result["status"] == "not found"]
        said += [f"{in_words(missing)}: not handed in"] if missing else []
        for name, results in self.all_results.items():
            record, result = results[0]
            files = sorted(file["submission"] for file, one in results if _is_there(one))
            if result["status"] in WORTH_SAYING and not record.get("problem"):
                said.append(f"{name}: {IN_WORDS[result['status']]}")
            said += [f"{name}: in {' and '.join(files)}; the best counts"] if len(files) > 1 else []
        return said


def students(records: Iterable[Record]) -> list[Student]:
    """The students of these records, by name."""
    by_name: dict[str, list[Record]] = {}
    for record in sorted(records, key=lambda record: record["submission"]):
        by_name.setdefault(record["student"], []).append(record)
    return [Student(name, tuple(own)) for name, own in sorted(by_name.items())]


def exercises(class_: Sequence[Student]) -> list[str]:
    """What any of the students was asked, in the order of the course."""
    asked = {name for student in class_ for name in student.results}
    return [item.name for item in catalog.items() if item.name in asked]


def gradebook(class_: Sequence[Student]) -> str:
    """The gradebook as CSV: student, the points of each exercise (empty where it was not asked), total, of, notes.

    The first row has the points that can be got.
    """
    names, text = exercises(class_), io.StringIO()
    possible = [catalog.find(name).points for name in names]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["student", *names, "total", "of", "notes"])
    writer.writerow([POSSIBLE, *possible, sum(possible), sum(possible), ""])
    for student in class_:
        points = [_points(student.results.get(name)) for name in names]
        writer.writerow([_plain(student.name), *points, student.total, student.of, _plain("; ".join(student.notes))])
    return text.getvalue()


def _points(result: Result | None) -> int | str:
    if result is None:
        return ""
    return NOT_HANDED_IN if result["status"] == "not found" else int(result["points"])


def _rank(result: Result) -> tuple[int, bool]:
    return result["points"], _is_there(result)


def _is_there(result: Result) -> bool:
    return result["status"] not in ("not found", "cannot be read")


def _plain(text: str) -> str:
    """Text that a spreadsheet does not take for a formula.

    >>> _plain("=1+1"), _plain("ann")
    ("'=1+1", 'ann')
    """
    return f"'{text}" if text.startswith(FORMULA) else text
