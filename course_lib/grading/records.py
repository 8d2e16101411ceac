"""The record of a judged submission: plain data, as `course_lib/data/grade.schema.json` describes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from course_lib.catalog.model import Exercise
from course_lib.checking.findings import Report
from course_lib.checking.report import as_html, as_json

if TYPE_CHECKING:
    from course_lib.grading.tasks import Task

VERSION = 1
"""Rises when a field changes its meaning or goes away; fields may be added without that."""
Status = Literal["passed", "wrong", "not done yet", "not found", "cannot be read", "not judged"]
IN_WORDS: dict[Status, str] = {
    "passed": "passed",
    "wrong": "not right yet",
    "not done yet": "not done yet",
    "not found": "not found",
    "cannot be read": "cannot be read",
    "not judged": "cannot be judged here",
}
"""The status as students and their teachers read it."""


def record(
    task: Task,
    results: Sequence[dict[str, Any]],
    notes: Iterable[str] = (),
    seconds: float = 0.0,
    problem: str | None = None,
) -> dict[str, Any]:
    """The record of a submission, from the results of its exercises. `problem` says why the whole file could not be read."""
    return {
        "version": VERSION,
        "submission": task.submission,
        "student": task.student,
        "digest": task.digest,
        "results": list(results),
        "total": sum(result["points"] for result in results),
        "of": sum(result["of"] for result in results),
        "notes": list(notes),
        "problem": problem,
        "seconds": round(seconds, 3),
    }


def result(
    exercise: Exercise, report: Report, *, found: bool = True, use_gpu: bool = False, answer: str | None = None
) -> dict[str, Any]:
    """One exercise's part of a record. What is shown to the student (`feedback`) does not tell the seed, nor that a GPU was not
    used that was not asked for. `answer` is the text that was judged.
    """
    status = _status(report) if found else "not found"
    shown = replace(report.for_feedback(), skipped=tuple(s for s in report.skipped if use_gpu or s.stage != "gpu"))
    return {
        "exercise": exercise.name,
        "status": status,
        "points": exercise.points if report.passed else 0,
        "of": exercise.points,
        "report": as_json(report),
        "feedback": as_html(shown, IN_WORDS[status]),
        "answer": answer,
    }


def _status(report: Report) -> Status:
    if report.passed:
        return "passed"
    if not report.judged:
        return "not judged"
    if report.stages == ("bundle",):
        return "cannot be read"
    return "wrong" if report.done else "not done yet"
