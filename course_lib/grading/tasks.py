"""One submission as a task, and the task judged: plain data on both sides, so that either may cross to another machine.

`grade` needs no file of the teacher's machine and never raises for what a student wrote.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from course_lib import catalog
from course_lib.catalog.model import Exercise
from course_lib.checking import sandbox
from course_lib.checking.bundle import Bundle
from course_lib.checking.check import judge
from course_lib.checking.findings import Report
from course_lib.checking.notebook import Cell, bundle_cells, cell_of, see_that_python_reads
from course_lib.checking.source import CannotBundle, NotDefined
from course_lib.grading import records
from course_lib.grading.asked import in_words, named


@dataclass(frozen=True)
class Task:
    """A submission to be judged: what it is called, who handed it in, its text, and what it is asked.

    `submission` is the file's path in the folder of submissions, with slashes. `cells` are the texts of a notebook's code
    cells, or the whole of a Python file; outputs and metadata do not travel. `seed` gives all inputs; `cases` are further ones
    by the exercise's name, each the keyword arguments of its `make_inputs`. `hidden` are folders that answers must not look
    into, where the machine that judges has them.
    """

    submission: str
    student: str
    kind: Literal["notebook", "python"]
    cells: tuple[str, ...]
    exercises: tuple[str, ...]
    seed: int
    cases: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    use_gpu: bool = False
    hidden: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Names all that the verdict depends on: two tasks with the same digest have the same record."""
        content = {key: value for key, value in asdict(self).items() if key != "hidden"}
        return hashlib.sha256(json.dumps([records.VERSION, content], sort_keys=True).encode()).hexdigest()


def grade(task: Task) -> dict[str, Any]:
    """Judge a submission; the result is a record (`records.py`). Nothing is kept, and no learner's progress touched.

    From then on, answers that are judged in this process see nothing of each other (`sandbox.keep_apart`).
    """
    began = time.perf_counter()
    sandbox.keep_apart(Path(folder) for folder in task.hidden)
    with warnings.catch_warnings(action="ignore"):  # such as Python's about the student's text
        cells, unreadable = _readable(task)
        results = [_judged(task, cells, unreadable, catalog.exercise(name)) for name in task.exercises]
    notes = (*unreadable.values(), *_instead(task))
    return records.record(task, results, notes=notes, seconds=time.perf_counter() - began)


def not_judged(task: Task, reason: str) -> dict[str, Any]:
    """The record of a submission that could not be judged, for a reason that is not the student's: a process that died."""
    results = [records.result(catalog.exercise(name), Report.not_judged(name, reason)) for name in task.exercises]
    return records.record(task, results)


def _readable(task: Task) -> tuple[list[Cell], dict[str, str]]:
    """The submission's cells that Python can read, and of the others the text with what is wrong in it."""
    file = task.submission.rpartition("/")[2]
    cells: list[Cell] = []
    unreadable: dict[str, str] = {}
    for number, text in enumerate(task.cells, 1):
        try:
            cell = cell_of(text, number, file) if task.kind == "notebook" else Cell(file, text)
            see_that_python_reads(cell)
            cells.append(cell)
        except CannotBundle as problem:
            unreadable[text] = str(problem)
    return cells, unreadable


def _judged(task: Task, cells: list[Cell], unreadable: Mapping[str, str], exercise: Exercise) -> dict[str, Any]:
    """The result of one exercise. A cell that Python cannot read matters only to what it was to define."""
    try:
        bundle = bundle_cells(cells, exercise.name)
    except NotDefined:
        wrote_it = re.compile(rf"\bdef\s+{exercise.name}\b")
        problems = [problem for text, problem in unreadable.items() if wrote_it.search(text)]
        missing = f"{task.submission.rpartition('/')[2]} does not define a function called `{exercise.name}`"
        report = Report.not_bundled(exercise.name, (problems or ["; ".join([missing, *_instead(task)]) + "."])[0])
        return records.result(exercise, report, found=bool(problems))
    except CannotBundle as problem:
        return records.result(exercise, Report.not_bundled(exercise.name, str(problem)))
    return records.result(exercise, _report(task, bundle, exercise), use_gpu=task.use_gpu, answer=bundle.source)


def _instead(task: Task) -> list[str]:
    """What a submission answers that has nothing of what it is asked for."""
    names = named(task.cells)
    if not names or names & set(task.exercises):
        return []
    return [f"it answers {in_words(sorted(names))}, which was not asked for"]


def _report(task: Task, bundle: Bundle, exercise: Exercise) -> Report:
    further = (case for case in task.cases.get(exercise.name, ()) if case not in exercise.cases)
    try:
        return judge(replace(exercise, cases=(*exercise.cases, *further)), lambda: bundle, task.seed, use_gpu=task.use_gpu)
    except Exception as error:  # a fault of the checker's own, which must cost neither the student nor the run
        reason = f"The checker itself failed ({type(error).__name__}: {error})."
        return Report.not_judged(exercise.name, reason, task.seed)
