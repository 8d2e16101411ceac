"""A run: submissions become tasks, those that are not judged yet go to a runner, and what comes back is kept and summed up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from course_lib import catalog
from course_lib.checking.findings import Report
from course_lib.grading import records
from course_lib.grading.asked import asked
from course_lib.grading.extra_cases import Cases
from course_lib.grading.feedback import MADE_HERE, page
from course_lib.grading.gradebook import Student, gradebook, students
from course_lib.grading.mistakes import Tally, tally
from course_lib.grading.results import Results, file_name
from course_lib.grading.runners import Runner
from course_lib.grading.submissions import NOTHING, Submission
from course_lib.grading.tasks import Task


@dataclass(frozen=True)
class Plan:
    """What is to be judged: all tasks, and the records that are there already, by submission."""

    tasks: tuple[Task, ...]
    done: dict[str, dict[str, Any]]

    @property
    def unread(self) -> list[dict[str, Any]]:
        """The records of what could not be read."""
        return [record for record in self.done.values() if record.get("problem")]

    @property
    def left(self) -> list[Task]:
        return [task for task in self.tasks if task.submission not in self.done]


def plan(
    submissions: Sequence[Submission],
    results: Results,
    *,
    exercises: Sequence[str] = (),
    cases: Cases | None = None,
    use_gpu: bool = False,
    hidden: Sequence[Path] = (),
) -> Plan:
    """The tasks of these submissions: each is asked for `exercises`, or else for what it names (`asked.asked`).

    Answers may not look into `hidden`, nor into the folder of results. What could not be read is recorded at once.
    """
    tasks, done = [], {}
    for submission in submissions:
        names = () if submission.beside else tuple(exercises) or asked(submission)
        task = Task(
            submission=submission.name,
            student=submission.student,
            kind="python" if submission.kind == "python" else "notebook",
            cells=submission.cells,
            exercises=names,
            seed=results.seed,
            cases={name: own for name, own in (cases or {}).items() if name in names},
            use_gpu=use_gpu,
            hidden=tuple(str(folder.resolve()) for folder in (*hidden, results.folder)),
        )
        tasks.append(task)
        if submission.problem:
            done[task.submission] = _unreadable(task, submission.problem)
            results.save(done[task.submission])
        elif record := results.record_of(task):
            done[task.submission] = record
    return Plan(tuple(tasks), done)


def judged(plan: Plan, runner: Runner, results: Results) -> Generator[dict[str, Any], None, None]:
    """Have what is left judged. Every record is kept before it is given; closing this ends the work."""
    for record in runner.run(plan.left):
        results.save(record)
        plan.done[record["submission"]] = record
        yield record


@dataclass(frozen=True)
class Summary:
    """What a run came to, and the files that say so."""

    students: tuple[Student, ...]
    tallies: tuple[Tally, ...]
    files: tuple[Path, ...]


def sum_up(plan: Plan, results: Results) -> Summary:
    """Write the gradebook, the pages of feedback and the picture of the mistakes. Pages of students that are gone go, too."""
    class_ = students(plan.done[task.submission] for task in plan.tasks)
    tallies = tally(class_)
    files = [results.write("gradebook.csv", gradebook(class_))]
    names = Counter(student.name.lower() for student in class_)
    pages = {f"{file_name(one.name, apart=names[one.name.lower()] > 1)}.html": page(one, date.today()) for one in class_}
    for name, text in pages.items():
        results.write(f"feedback/{name}", text)
    for path in (results.folder / "feedback").glob("*.html"):
        if path.name not in pages and MADE_HERE in path.read_text(encoding="utf-8", errors="replace"):
            path.unlink()
    if tallies:
        from course_lib.figures.mistakes import draw_mistakes

        files.append(results.write("mistakes.png", draw_mistakes(tallies).png()))
    return Summary(tuple(class_), tuple(tallies), (*files, results.folder / "feedback"))


def _unreadable(task: Task, problem: str) -> dict[str, Any]:
    there = problem != NOTHING
    results = [
        records.result(catalog.exercise(name), Report.not_bundled(name, problem), found=there) for name in task.exercises
    ]
    return records.record(task, results, notes=[problem], problem=problem)
