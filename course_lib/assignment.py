"""Assignments made of the course's exercises: source notebooks for nbgrader, and plain notebooks with blanks.

    DIR/source/NN_topic/NN_topic.ipynb   with solutions; nbgrader makes of it what students get
    DIR/plain/NN_topic.ipynb             with blanks, for everything else
    DIR/nbgrader_config.py

They are made of solutions/ and exercises/, which only a clone of the course has. Files appear all at once or not at all.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from course_lib import catalog
from course_lib.errors import PlainError

CLONE = Path(__file__).resolve().parent.parent
CONFIG_NAME = "nbgrader_config.py"
CONFIG = '''\
"""How nbgrader grades this course's assignments. Run nbgrader in this folder, with the course's Python."""

import os
import sys
import tempfile

c = get_config()  # noqa: F821

c.CourseDirectory.root = os.path.dirname(os.path.abspath(__file__))
c.Execute.timeout = 600  # seconds for a cell; a check takes some, and more on a busy machine

# nbgrader runs alembic by its name, which is beside Python in an environment that need not be activated.
os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "")

# What is checked while grading is not the teacher's own progress.
os.environ["COURSE_STATE_DIR"] = os.path.join(tempfile.gettempdir(), f"course-grading-{os.getuid()}")
'''
GRADED = """\
from course_lib import {function}

report = {call}
### BEGIN HIDDEN TESTS
report = report.for_feedback()  # no seed and no expected values
### END HIDDEN TESTS
assert report, report
display(report)"""
"""A cell that nbgrader grades: it raises unless the answer has passed. Students get it without the hidden line.

Displayed, a report is not the cell's value, which nbgrader would take for points.
"""
LINK = re.compile(r"\[([^\]]+)\]\(\.\./[^)]+\)")


class CannotAssign(PlainError, ValueError):
    """There is no such assignment, or it cannot be written there; the message says what to do."""


def write(lessons: Sequence[str], to: Path, *, clone: Path = CLONE, force: bool = False) -> list[Path]:
    """Write the assignments of these lessons, given by name or number ("04"), below `to`; returns the files' paths.

    Other files of the same names are replaced only with `force`; a configuration of nbgrader never is. Raises `CannotAssign`
    and `catalog.UnknownLesson`, and has written nothing then.
    """
    files: dict[Path, str] = {}
    for name in dict.fromkeys(catalog.lesson(lesson).name for lesson in lessons):
        files[to / "source" / name / f"{name}.ipynb"] = nbformat.writes(for_nbgrader(_read(clone, "solutions", name))) + "\n"
        files[to / "plain" / f"{name}.ipynb"] = nbformat.writes(without_links(_read(clone, "exercises", name))) + "\n"
    theirs = [path for path, text in files.items() if path.exists() and path.read_text(encoding="utf-8") != text]
    if theirs and not force:
        names = ", ".join(str(path) for path in theirs)
        raise CannotAssign(f"There is already: {names}. Give another folder, or --force to replace what is there.")
    if not (to / CONFIG_NAME).exists():
        files[to / CONFIG_NAME] = CONFIG
    try:
        _write_all(files)
    except OSError as error:
        raise CannotAssign(f"{to} cannot be written: {error}. Nothing was changed there.") from error
    return list(files)


def for_nbgrader(solutions: NotebookNode) -> NotebookNode:
    """A worked notebook as nbgrader's source: each cell that checks an answer raises unless it passes, and has its points.

    Raises `CannotAssign` where a cell to be graded holds anything but one `check(…)` or `quiz(…)`.
    """
    notebook = without_links(solutions)
    for cell in notebook.cells:
        grading = cell.metadata.get("nbgrader", {})
        if not grading.get("grade"):
            continue
        asked = re.fullmatch(r'(check|quiz)\("(\w+)", .+\)', cell.source.strip())
        if asked is None:
            raise CannotAssign(f"The cell {grading['grade_id']} holds more than one check; it cannot be graded.")
        grading["points"] = catalog.find(asked[2]).points
        cell.source = GRADED.format(function=asked[1], call=cell.source.strip())
    return notebook


def without_links(notebook: NotebookNode) -> NotebookNode:
    """The notebook as it can stand elsewhere: without badges, and with its links to the course's folders as plain text."""
    notebook.cells = [cell for cell in notebook.cells if cell.get("id") != "badges"]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = LINK.sub(r"\1", cell.source)
    return notebook


def _read(clone: Path, folder: str, name: str) -> NotebookNode:
    path = clone / folder / f"{name}.ipynb"
    if path.exists():
        return nbformat.read(path, as_version=4)
    if (clone / folder).is_dir():
        raise CannotAssign(f"The lesson {name} has no exercise notebook, so there is nothing to assign.")
    raise CannotAssign(
        "The exercises are in a clone of the course only, not in an installed package. Clone it, and run "
        "`.venv/bin/course assignment` there."
    )


def _write_all(files: Mapping[Path, str]) -> None:
    """Write all files, or none: first beside their places, then each in its place."""
    ready: dict[Path, Path] = {}
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".", encoding="utf-8", delete=False) as file:
                ready[Path(file.name)] = path
                file.write(text)
            os.chmod(file.name, 0o644)
        for temporary, path in ready.items():
            os.replace(temporary, path)
    finally:
        for temporary in ready:
            temporary.unlink(missing_ok=True)
