"""Records as a gradebook: one row a student."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from course_lib import catalog

Record = Mapping[str, Any]
Result = Mapping[str, Any]
WORTH_SAYING = ("not done yet", "not found", "cannot be read", "not judged")
FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Student:
    """What a student has handed in, and the result that counts of each exercise: of several, the best, and then the first."""

    name: str
    records: tuple[Record, ...]

    @cached_property
    def results(self) -> dict[str, Result]:
        best: dict[str, Result] = {}
        for result in (result for record in self.records for result in record["results"]):
            if result["exercise"] not in best or _rank(result) > _rank(best[result["exercise"]]):
                best[result["exercise"]] = result
        return best

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
        for name, result in self.results.items():
            files = [
                r["submission"] for r in self.records for one in r["results"] if one["exercise"] == name and _is_there(one)
            ]
            said += [f"{name}: {result['status']}"] if result["status"] in WORTH_SAYING else []
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
    """The gradebook as CSV: student, the points of each exercise (empty where it was not asked), total, of, notes."""
    names, text = exercises(class_), io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["student", *names, "total", "of", "notes"])
    for student in class_:
        results = student.results
        points = [results[name]["points"] if name in results else "" for name in names]
        writer.writerow([_plain(student.name), *points, student.total, student.of, _plain("; ".join(student.notes))])
    return text.getvalue()


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
