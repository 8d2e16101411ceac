"""`course grade`: what it takes, and what it prints."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from course_lib.errors import PlainError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from course_lib.grading.mistakes import Tally
    from course_lib.grading.run import Summary

UNJUDGED = 2
"""The exit code where something could not be judged, or the command cannot be understood; also that of `course check`."""
INTERRUPTED = 130


def grade(
    submissions: Annotated[Path, typer.Argument(help="The folder of notebooks and Python files.")],
    to: Annotated[Path, typer.Option("--to", help="The folder for the results; the same one again goes on with a run.")],
    lesson: Annotated[list[str] | None, typer.Option(help="Ask for this lesson's exercises (a name, or 04).")] = None,
    exercise: Annotated[list[str] | None, typer.Option(help="Ask for this exercise.")] = None,
    cases: Annotated[Path | None, typer.Option(help="A JSON file with further cases.")] = None,
    on: Annotated[str, typer.Option(help="Where answers are judged: local, or ray, ray://HOST:PORT for a cluster.")] = "local",
    jobs: Annotated[int, typer.Option(min=0, help="Submissions at a time; 0: one a processor.")] = 0,
    part: Annotated[str | None, typer.Option(help="I/N: judge this part only, as one of N jobs with the same results.")] = None,
    gpu: Annotated[bool, typer.Option("--gpu", help="Run the answers on a GPU as well, where there is one.")] = False,
) -> None:
    """Grade a folder of SUBMISSIONS: a record of each, gradebook.csv, and a page of feedback a student.

    Without --lesson and --exercise, each submission is asked for what it names. Exit code 0: all judged; 2: not all.
    """
    try:
        _grade(Console(), submissions, to, lesson or [], exercise or [], cases, on, jobs, part, gpu)
    except PlainError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(UNJUDGED) from error


def _grade(
    console: Console,
    folder: Path,
    to: Path,
    lessons: list[str],
    exercises: list[str],
    cases: Path | None,
    on: str,
    jobs: int,
    part_named: str | None,
    gpu: bool,
) -> None:
    from course_lib.grading.asked import chosen
    from course_lib.grading.extra_cases import read_cases
    from course_lib.grading.part import part
    from course_lib.grading.results import CannotKeep, opened
    from course_lib.grading.run import judged, plan, sum_up
    from course_lib.grading.runners import runner
    from course_lib.grading.submissions import read_folder

    names, further, chosen_runner = chosen(lessons, exercises), read_cases(cases) if cases else {}, runner(on, jobs)
    own = part(part_named) if part_named else None
    if to.resolve() == folder.resolve() or folder.resolve() in to.resolve().parents:
        raise CannotKeep(f"{to} lies in the folder of submissions. Give another folder for the results.")
    with console.status("Reading submissions …"):
        found = read_folder(folder)
        handed_in = own.of(found) if own else found
    with opened(to, own) as results:
        work = plan(handed_in, results, exercises=names, cases=further, use_gpu=gpu, hidden=[folder])
        left, began = len(work.left), time.monotonic()
        console.print(f"{len(handed_in)} submissions, {left} of them to be judged.")
        if unused := further.keys() - {name for task in work.tasks for name in task.exercises}:
            console.print(f"No submission is asked for {', '.join(sorted(unused))}, of which {cases} has cases.")
        try:
            with contextlib.closing(judged(work, chosen_runner, results)) as records:
                _follow(console, records, left)
        except KeyboardInterrupt:
            judged_now = left - len(work.left)
            console.print(f"Stopped after {judged_now} of {left}. The same command goes on from there.", style="bold")
            raise typer.Exit(INTERRUPTED) from None
        if left:
            seconds = time.monotonic() - began
            console.print(f"Judged {left} submissions in {seconds:.0f} s: {60 * left / seconds:.0f} a minute.")
        if own:
            console.print("When all parts are done, the same command without --part makes the gradebook and the feedback.")
        else:
            _show(console, sum_up(work, results))
    unjudged = [one for record in work.done.values() for one in record["results"] if one["status"] == "not judged"]
    if unjudged:
        console.print(f"{len(unjudged)} answers could not be judged; the same command tries them again.", style="bold")
        raise typer.Exit(UNJUDGED)


def _follow(console: Console, records: Iterator[dict[str, Any]], number: int) -> None:
    """Show how far it is."""
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("judged"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("", total=number)
        for record in records:
            progress.update(bar, advance=1, description=escape(record["submission"]))


def _show(console: Console, summary: Summary) -> None:
    """What a run came to, and where it is kept."""
    _print_tallies(console, summary.tallies)
    for path in summary.files:
        console.print(Text(f"  {path}"), soft_wrap=True)
    if len({tuple(student.results) for student in summary.students}) > 1:
        console.print("Not all were asked the same exercises: the column `of` says what each could get.", soft_wrap=True)


def _print_tallies(console: Console, tallies: tuple[Tally, ...]) -> None:
    """A table of the exercises with their commonest mistakes."""
    from course_lib.grading.mistakes import in_words

    table = Table("exercise", "passed", "commonest mistakes")
    for one in tallies:
        worst = "\n".join(f"{count} × {in_words(kind)}" for kind, count in one.mistakes[:3])
        table.add_row(one.exercise, f"{one.passed} of {one.asked}", Text(worst))
    if tallies:
        console.print(table)
