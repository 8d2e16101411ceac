"""Run an exercises source unsolved and then solved, and say what its checks should not have answered.

`make test` and the course linter share this. It runs what the source stands for, not the files in exercises/ and
solutions/, so that a learner's answers there fail nothing; tools/build.py proves that those files are in step.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools import execute, sources


def faults(path: Path) -> list[str]:
    """What is wrong with a source, run from top to bottom with its blanks, and again in the same kernel with its solutions.

    Nothing may raise. At first every check must answer "not done yet"; once solved, every check must pass.
    """
    blank, solved = sources.exercise_notebook(path), sources.solution_notebook(path)
    both = nbformat.from_dict(blank)
    both.cells = [*blank.cells, *solved.cells]
    names = [name for _, name in asked(blank)]
    try:
        verdicts = execute.verdicts(both, path.parent)
    except execute.RunError as error:
        return [_raised(path, error, len(blank.cells))]
    if not names or [verdict.name for verdict in verdicts] != [*names, *names]:
        told = ", ".join(verdict.name for verdict in verdicts)
        return [f"lessons/{path.name}: asks twice for {', '.join(names) or 'nothing'}; answered were {told}."]
    answers = [("unsolved", one) for one in verdicts[: len(names)] if one.passed or one.done]
    answers += [("solved", one) for one in verdicts[len(names) :] if not one.passed]
    return [
        f"lessons/{path.name}, {version}: {one.name} answers {', '.join(one.kinds) or 'passed'}." for version, one in answers
    ]


def _raised(path: Path, error: execute.RunError, blank_cells: int) -> str:
    if error.place is None:
        return f"lessons/{path.name}: {error}"
    version = "unsolved" if error.place < blank_cells else "solved"
    return f"lessons/{sources.locate(path, error.place % blank_cells)}, {version}: {error}"


def asked(notebook: NotebookNode) -> list[tuple[str, str]]:
    """Every ``check("name", …)`` and ``quiz("name", …)`` written in a notebook, in order: (function, name)."""
    cells = (cell for cell in notebook.cells if cell.cell_type == "code")
    return [call for cell in cells for call in sources.judged_names(cell.source)]
