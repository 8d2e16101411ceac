"""The `course` command: doctor, check, hint, glossary, progress, assignment, grade. Only it and its `grading/command.py` print.

    course doctor
    course check vector_add answer.py

Exit codes: 0 all well or passed, 1 not passed or not able to run lessons, 2 could not judge or bad usage.
"""

from __future__ import annotations

import json
import sys
import traceback
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from course_lib.grading.command import UNJUDGED, grade

if TYPE_CHECKING:
    from course_lib.checking.findings import Report
    from course_lib.doctor.facts import Facts

app = typer.Typer(
    help="From Warps to Tiles: learn Triton on a laptop with no GPU.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.command()(grade)

FAILED = 1
COLOURS = {"stops": "red", "limits": "yellow", "note": "cyan"}


@app.command()
def doctor() -> None:
    """Show what this machine can and cannot do, and the cure for each problem."""
    from course_lib.device import prepare
    from course_lib.doctor.diagnosis import problems
    from course_lib.doctor.facts import gather
    from course_lib.doctor.trial import make_trials

    decision = prepare()
    facts = gather(decision.asked, decision.triton_before)
    console = Console()
    with console.status("Trying a small kernel …"):
        facts = gather(decision.asked, decision.triton_before, make_trials(worthwhile_trials(facts)))
    print_diagnosis(console, facts)
    if any(problem.severity == "stops" for problem in problems(facts)):
        raise typer.Exit(FAILED)


def worthwhile_trials(facts: Facts) -> list[str]:
    """The trials that can teach something on this machine: none without torch and Triton."""
    if not (facts.versions.get("torch") and facts.versions.get("triton")):
        return []
    return ["run", "compile", *(["time"] if facts.gpu else [])]


def print_diagnosis(console: Console, facts: Facts) -> None:
    """The table of abilities, and a line with its cure for each problem."""
    from course_lib.doctor.diagnosis import abilities, problems

    versions = " · ".join(f"{name} {number or 'missing'}" for name, number in facts.versions.items())
    driver = f" · driver {facts.gpus.driver}" if facts.gpus.driver else ""
    console.print(Text(f"{facts.system} {facts.machine} · {versions}{driver}", style="dim"))
    table = Table("what", "here", "why")
    for ability in abilities(facts):
        table.add_row(ability.what, Text("yes", "green") if ability.works else Text("no", "red"), Text(ability.why))
    console.print(table)
    found = problems(facts)
    for problem in found:
        line = Text(f"{problem.code} ({problem.severity}): ", style=COLOURS[problem.severity]).append(problem.what, "default")
        console.print(line)
        console.print(Text(f"    {problem.label}: ", style="bold").append(problem.cure, "not bold"), soft_wrap=True)
    if not found:
        console.print("No problems found.")
    if not facts.gpu:
        console.print(
            "A file of your own imports course_lib above triton. If it does not, Triton looks for a GPU and stops with"
        )
        console.print("    0 active drivers ([]). There should only be one.", markup=False)
    stopped = any(problem.severity == "stops" for problem in found)
    console.print("Lessons cannot run yet." if stopped else "Lessons can run. Next: make lab", style="bold")


@app.command()
def check(
    name: Annotated[str, typer.Argument(help="The exercise, which is also the name of your function.")],
    file: Annotated[Path, typer.Argument(help="The Python file or notebook (.ipynb) that holds it.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    seed: Annotated[int | None, typer.Option(help="Repeat the check that printed this seed.")] = None,
) -> None:
    """Judge the function NAME in FILE: exit 0 passed, 1 failed, 2 could not judge."""
    from course_lib import catalog

    if str(file) in {item.name for item in catalog.items()} and Path(name).suffix in (".py", ".ipynb"):
        _stop(f"The name of the exercise comes first: course check {file} {name}", str(file), as_json)
    try:
        catalog.exercise(name)
    except catalog.UnknownName as error:
        _stop(str(error), name, as_json)
    if not file.is_file():
        what = "is a folder, not a file" if file.is_dir() else "does not exist"
        _stop(f"{file} {what}. Give the file with your {name}: course check {name} answer.py", name, as_json)
    try:
        from course_lib.checking.check import check_file

        report = check_file(name, file, seed)
    except Exception as error:  # a fault of the checker's own must not look like a verdict (exit 1)
        traceback.print_exc()
        _stop(f"The checker itself failed ({type(error).__name__}: {error}). Try: course doctor", name, as_json)
    typer.echo(json.dumps(_as_json(report), indent=1, default=str) if as_json else repr(report))
    raise typer.Exit(0 if report.passed else FAILED if report.judged else UNJUDGED)


@app.command()
def assignment(
    lesson: Annotated[list[str], typer.Argument(help="Lessons, by name or number: 04.")],
    to: Annotated[Path, typer.Option("--to", help="The folder for the assignments.")],
    force: Annotated[bool, typer.Option("--force", help="Replace notebooks of the same names that are there.")] = False,
) -> None:
    """Write the exercises of LESSON… for a class: as nbgrader's source, and as plain notebooks with blanks."""
    from course_lib.assignment import write
    from course_lib.errors import PlainError

    try:
        for path in write(lesson, to, force=force):
            typer.echo(path)
    except PlainError as error:
        _stop(str(error), lesson[0])


@app.command()
def hint(name: Annotated[str, typer.Argument(help="An exercise or quiz.")]) -> None:
    """Print the next hint."""
    from course_lib import catalog
    from course_lib.progress import hint as next_hint

    try:
        typer.echo(next_hint(name))
    except catalog.UnknownName as error:
        _stop(str(error), name)


@app.command()
def glossary(
    term: Annotated[str | None, typer.Argument(help="A word of the course; all of them are listed without one.")] = None,
) -> None:
    """Say what a word means, and which lesson brings it up."""
    from course_lib.catalog.glossary import UnknownTerm
    from course_lib.words import glossary as explained

    try:
        typer.echo(explained(term))
    except UnknownTerm as error:
        _stop(str(error), str(term))


@app.command()
def progress(
    reset: Annotated[bool, typer.Option("--reset", help="Forget everything, after a question.")] = False,
) -> None:
    """Show what is solved."""
    from course_lib import state
    from course_lib.progress import LEGEND, mark, remark
    from course_lib.progress import progress as solved_so_far

    if reset:
        typer.confirm(f"Forget all progress in {state.state_file()}?", abort=True)
        state.reset()
        typer.echo("Progress is forgotten.")
        return
    solved = solved_so_far()
    table = Table("lesson", "exercises", "quizzes", LEGEND, title=solved.summary, title_justify="left")
    for lesson in solved.lessons:
        names = "\n".join(f"{mark(row)} {row.name}{remark(row)}" for row in lesson.rows)
        table.add_row(f"{lesson.name}\n{lesson.title}", lesson.count("exercise"), lesson.count("quiz"), Text(names))
    Console().print(table)


def _as_json(report: Report) -> dict[str, Any]:
    from course_lib.checking.report import as_json

    return as_json(report)


def _stop(message: str, name: str, as_json: bool = False) -> NoReturn:
    """End with exit code 2 and one plain message; as JSON on standard output where that was asked for."""
    if as_json:
        typer.echo(json.dumps({"name": name, "passed": False, "judged": False, "error": message}, indent=1))
    else:
        typer.echo(message, err=True)
    raise typer.Exit(UNJUDGED)


def main() -> None:
    """The entry point of `course`: warnings become plain lines, and a missing package a message with its cure."""
    warnings.showwarning = lambda message, *_, **__: print(f"note: {message}", file=sys.stderr)
    try:
        app()
    except ModuleNotFoundError as error:
        print(f"{error.name} is not installed. Next: course doctor", file=sys.stderr)
        sys.exit(UNJUDGED)


if __name__ == "__main__":
    main()
