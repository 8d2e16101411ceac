"""`course grade`: what it takes, and what it prints."""

from __future__ import annotations

import contextlib
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from course_lib.errors import PlainError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from course_lib.grading.mistakes import Tally
    from course_lib.grading.run import Summary
    from course_lib.grading.submissions import Submission

UNJUDGED = 2
"""The exit code where something could not be judged, or the command cannot be understood; also that of `course check`."""
INTERRUPTED = 130
MOST_NAMED = 20


def grade(
    submissions: Annotated[Path, typer.Argument(help="The folder of notebooks and Python files.")],
    to: Annotated[Path, typer.Option("--to", help="The folder for the results; the same one again goes on with a run.")],
    lesson: Annotated[list[str] | None, typer.Option(help="Ask for this lesson's exercises (a name, or 04).")] = None,
    exercise: Annotated[list[str] | None, typer.Option(help="Ask for this exercise.")] = None,
    cases: Annotated[Path | None, typer.Option(help="A JSON file with further cases.")] = None,
    on: Annotated[str, typer.Option(help="Where answers are judged: local, or ray, ray://HOST:PORT for a cluster.")] = "local",
    jobs: Annotated[int, typer.Option(min=0, help="Submissions at a time; 0: one a processor.")] = 0,
    part: Annotated[str | None, typer.Option(help="I/N: judge this part only, as one of N jobs with the same results.")] = None,
    student: Annotated[list[str] | None, typer.Option(help="This folder is one student's, whatever it holds.")] = None,
    gpu: Annotated[bool, typer.Option("--gpu", help="Run the answers on a GPU as well, where there is one.")] = False,
) -> None:
    """Grade a folder of SUBMISSIONS: a record of each, gradebook.csv, and a page of feedback a student.

    Without --lesson and --exercise, each submission is asked for what it names. Exit code 0: all judged; 2: not all.
    """
    try:
        with ended_as_by_ctrl_c():
            _grade(Console(), submissions, to, lesson or [], exercise or [], cases, on, jobs, part, student or [], gpu)
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
    known: list[str],
    gpu: bool,
) -> None:
    from course_lib.grading.asked import chosen
    from course_lib.grading.extra_cases import read_cases
    from course_lib.grading.options import Options
    from course_lib.grading.part import part
    from course_lib.grading.results import CannotKeep, opened
    from course_lib.grading.run import judged, plan, sum_up
    from course_lib.grading.runners import runner
    from course_lib.grading.submissions import read_folder, students_folder
    from course_lib.grading.too_high import see_that_each_is_one_student

    names, further, chosen_runner = chosen(lessons, exercises), read_cases(cases) if cases else {}, runner(on, jobs)
    own = part(part_named) if part_named else None
    if to.resolve() == folder.resolve() or folder.resolve() in to.resolve().parents:
        raise CannotKeep(f"{to} lies in the folder of submissions. Give another folder for the results.")
    with console.status("Reading submissions …"):
        found = read_folder(folder)
        see_that_each_is_one_student(folder, found, known)
    handed_in = own.of(found) if own else found
    options = Options(str(students_folder(folder).resolve()), names, {name: list(some) for name, some in further.items()}, gpu)
    with opened(to, own, options) as results:
        work = plan(handed_in, results, exercises=names, cases=further, use_gpu=gpu, hidden=[folder])
        left, began = len(work.left), time.monotonic()
        asked = sum(not one.beside for one in handed_in)
        unread = sum(bool(one.problem) and not one.beside for one in handed_in)
        more = {"judged before": asked - unread - left, "that cannot be read": unread}
        also = "".join(f", {count} {what}" for what, count in more.items() if count)
        console.print(f"{asked} submissions, {left} of them to be judged{also}.")
        console.print(_in_short(handed_in), soft_wrap=True, highlight=False, markup=False)
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
        for record in work.unread:
            said = f"Not read: {record['student']} ({record['submission']}: {record['problem']})"
            console.print(Text(said), soft_wrap=True)
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
        for count, record in enumerate(records, 1):
            progress.update(bar, advance=1, description=escape(record["submission"]))
            if not console.is_terminal:
                line = f"{count} of {number}: {record['submission']}: {record['total']} of {record['of']} points"
                console.print(Text(line), soft_wrap=True)


def _in_short(submissions: Sequence[Submission]) -> str:
    """The students, those with the most files first, so that a wrong folder shows before anything is judged."""
    files = Counter(one.student for one in submissions)
    some = [name if count == 1 else f"{name} ({count} files)" for name, count in files.most_common(MOST_NAMED)]
    more = f", and {len(files) - MOST_NAMED} more" if len(files) > MOST_NAMED else ""
    return f"{len(files)} students: {', '.join(some)}{more}"


@contextlib.contextmanager
def ended_as_by_ctrl_c() -> Iterator[None]:
    """Let what ends a job, or closes a terminal, end the command as Ctrl-C does; the first time, and unless it is ignored."""

    def interrupt(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in kept.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


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
