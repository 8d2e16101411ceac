"""Run an exercises source unsolved and solved, and say what its checks should not have answered.

`make test` and the course linter share these. They run what the source stands for, not the files in exercises/ and
solutions/, so that a learner's answers there fail nothing; tools/build.py proves that those files are in step.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nbformat import NotebookNode

from tools import execute, sources


def blanks_are_not_done(path: Path) -> list[str]:
    """Faults of the unsolved version: nothing may raise, and every check must answer "not done yet"."""
    return _faults(sources.exercise_notebook(path), path, "unsolved", lambda v: not v.passed and not v.done)


def solutions_pass(path: Path) -> list[str]:
    """Faults of the worked version: every check must pass."""
    return _faults(sources.solution_notebook(path), path, "solved", lambda v: v.passed)


CHECKS = (blanks_are_not_done, solutions_pass)


def asked(notebook: NotebookNode) -> list[tuple[str, str]]:
    """Every ``check("name", …)`` and ``quiz("name", …)`` written in a notebook, in order: (function, name)."""
    cells = (cell for cell in notebook.cells if cell.cell_type == "code")
    return [call for cell in cells for call in sources.judged_names(cell.source)]


def _faults(notebook: NotebookNode, path: Path, version: str, as_wanted: Callable[[execute.Verdict], bool]) -> list[str]:
    names = [name for _, name in asked(notebook)]
    try:
        verdicts = execute.verdicts(notebook, path.parent)
    except execute.RunError as error:
        where = path.name if error.place is None else sources.locate(path, error.place)
        return [f"lessons/{where}, {version}: {error}"]
    if not names or [verdict.name for verdict in verdicts] != names:
        told = ", ".join(verdict.name for verdict in verdicts)
        return [f"lessons/{path.name}, {version}: asks for {', '.join(names) or 'nothing'}; answered were {told}."]
    return [
        f"lessons/{path.name}, {version}: {verdict.name} answers {', '.join(verdict.kinds) or 'passed'}."
        for verdict in verdicts
        if not as_wanted(verdict)
    ]
