"""Lesson sources (MyST Markdown, written by people) to notebooks that have not been run.

`lessons/NN_topic.md` gives a lesson. `lessons/NN_topic.exercises.md` gives two notebooks: the solution as written, and
the exercise, in which every region between ``### BEGIN SOLUTION`` and ``### END SOLUTION`` is a blank to fill. Both
carry nbgrader's cell metadata. The same source always gives the same notebook: cell ids come from the notebook's name
and the cell's place (or its ``:name:``).

Nothing here runs a cell or knows the catalogue.
"""

from __future__ import annotations

import ast
import platform
import re
from pathlib import Path
from typing import Any

import nbformat
from IPython.core.inputtransformer2 import TransformerManager
from jupytext.myst import MystMetadataParsingError, myst_to_notebook
from nbformat import NotebookNode

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
BLANK = ("# YOUR CODE HERE", "raise NotImplementedError()")
EXERCISES_SUFFIX = ".exercises"
KEPT_METADATA = ("name", "reason", "tags")
HIDE_INPUT = "hide-input"
"""The tag of a cell whose code is folded up. JupyterLab has an option of its own for that."""
NOTEBOOK_METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
        "version": platform.python_version(),
    },
}
"""What JupyterLab itself writes, so that opening and saving a notebook does not change it."""


class SourceError(ValueError):
    """A lesson's source cannot be built; the message says where, what and how to mend it."""


def read_source(path: Path) -> NotebookNode:
    """The notebook that a Markdown source stands for, with stable cell ids. Raises `SourceError`.

    The front matter is not used: all notebooks have the same metadata.
    """
    try:
        raw = myst_to_notebook(path.read_text(encoding="utf-8"))
    except (MystMetadataParsingError, nbformat.ValidationError) as error:
        raise SourceError(f"{path.name}: {str(error).strip().splitlines()[0]}") from error
    notebook = nbformat.v4.new_notebook(metadata=NOTEBOOK_METADATA)
    prefix = path.name.split("_")[0]
    for place, cell in enumerate(raw.cells):
        metadata = {key: cell.metadata[key] for key in KEPT_METADATA if key in cell.metadata}
        if unknown := sorted(set(cell.metadata) - set(KEPT_METADATA)):
            there_are = ", ".join(KEPT_METADATA)
            raise SourceError(f"{locate(path, place)}: unknown cell option {', '.join(unknown)}; there are {there_are}.")
        if HIDE_INPUT in metadata.get("tags", []):
            metadata["jupyter"] = {"source_hidden": True}
        make = {"code": nbformat.v4.new_code_cell, "markdown": nbformat.v4.new_markdown_cell}.get(cell.cell_type)
        if make is None:
            raise SourceError(f"{locate(path, place)}: a {cell.cell_type} cell; use Markdown or {{code-cell}}.")
        identity = metadata.get("name", f"{prefix}-{place:02d}")
        notebook.cells.append(make(cell.source, id=identity, metadata=metadata))
    if not any(cell.cell_type == "code" for cell in notebook.cells):
        raise SourceError(f"{path.name}: no code cell; write them as ```{{code-cell}} ipython3 … ```.")
    _refuse_bad_ids(path, notebook)
    return notebook


def locate(path: Path, place: int) -> str:
    """Where the cell at `place` begins, as ``file:line`` for messages."""
    source_map = myst_to_notebook(path.read_text(encoding="utf-8"), add_source_map=True).metadata["source_map"]
    return f"{path.name}:{max(1, source_map[place])}"


def solution_notebook(path: Path) -> NotebookNode:
    """The worked version of an exercises source: as written, regions and all, with nbgrader's metadata."""
    notebook = read_source(path)
    for place, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            try:
                fill_blanks(cell.source)
                grading = _grading(notebook, place)
            except ValueError as error:
                raise SourceError(f"{locate(path, place)}: {error}") from error
            if grading:
                cell.metadata["nbgrader"] = grading
    return notebook


def exercise_notebook(path: Path) -> NotebookNode:
    """The learner's version of an exercises source: the solution with its regions made blank."""
    notebook = solution_notebook(path)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = fill_blanks(cell.source)
    return notebook


def fill_blanks(source: str) -> str:
    """The source of a cell with each solution region replaced by nbgrader's default blank. Raises `ValueError`.

    >>> print(fill_blanks("def two():\\n    ### BEGIN SOLUTION\\n    return 2\\n    ### END SOLUTION"))
    def two():
        # YOUR CODE HERE
        raise NotImplementedError()

    A region must hold whole statements inside a function: at the top of a cell its blank would raise when the unsolved
    notebook is run, and a blank cannot stand for an argument.
    """
    lines: list[str] = []
    indent: str | None = None
    for line in source.splitlines():
        marker = line.strip()
        if marker == BEGIN:
            if indent is not None:
                raise ValueError(f"{BEGIN!r} inside a region that has not ended; add {END!r} before it.")
            indent = line[: line.index("#")]
            if not indent:
                raise ValueError(
                    "a solution region at the top level of a cell, where its blank would raise; put it in a function."
                )
            lines += [indent + blank for blank in BLANK]
        elif marker == END:
            if indent is None:
                raise ValueError(f"{END!r} without {BEGIN!r} before it.")
            indent = None
        elif _is_nearly_a_marker(marker):
            raise ValueError(f"{marker!r} is not a marker; write {BEGIN!r} or {END!r}, alone on its line.")
        elif indent is None:
            lines.append(line)
    if indent is not None:
        raise ValueError(f"{BEGIN!r} without {END!r} after it.")
    filled = "\n".join(lines)
    if filled != source:
        for text, which in ((source, "the solution"), (filled, "the blank version")):
            if syntax_tree(text) is None:
                raise ValueError(f"{which} is no valid Python: a region must hold whole statements, such as a body.")
    return filled


def has_region(source: str) -> bool:
    """Whether a cell's source holds a solution region."""
    return any(line.strip() == BEGIN for line in source.splitlines())


def count_blanks(source: str) -> int:
    """How many blanks a cell of an exercise notebook still holds."""
    return sum(line.strip() == BLANK[1] for line in source.splitlines())


def judged_names(source: str) -> list[tuple[str, str]]:
    """What a cell asks to be judged: ``[("check", "vector_add")]``, in order. Empty where the source is no Python.

    Only calls that name their item by a string literal count.
    """
    calls = [node for node in ast.walk(syntax_tree(source) or ast.Module([], [])) if isinstance(node, ast.Call)]
    calls.sort(key=lambda call: (call.lineno, call.col_offset))
    found = []
    for call in calls:
        function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)
        first = call.args[0] if call.args else None
        if function in ("check", "quiz") and isinstance(first, ast.Constant) and isinstance(first.value, str):
            found.append((function, first.value))
    return found


def answered_name(notebook: NotebookNode, place: int) -> str | None:
    """Which item the solution region of a cell answers: its ``:name:``, or a function it defines that is judged."""
    cell = notebook.cells[place]
    if "name" in cell.metadata:
        return str(cell.metadata["name"])
    judged = {name for later in notebook.cells if later.cell_type == "code" for _, name in judged_names(later.source)}
    tree = syntax_tree(cell.source) or ast.Module([], [])
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in judged]
    return defined[-1] if defined else None


def syntax_tree(source: str) -> ast.Module | None:
    """The cell's syntax tree, magics and all; None where it does not parse."""
    try:
        return ast.parse(TransformerManager().transform_cell(source))
    except SyntaxError:
        return None


def _grading(notebook: NotebookNode, place: int) -> dict[str, Any] | None:
    """The cell's nbgrader metadata: an answer to be written, a locked cell that judges, or nothing."""
    source = notebook.cells[place].source
    judged = judged_names(source)
    common = {"schema_version": 3, "task": False}
    if has_region(source):
        if judged:
            raise ValueError("a solution region and its check in one cell; give the check a cell of its own.")
        name = answered_name(notebook, place)
        if name is None:
            raise ValueError("this solution defines no function that is checked; name the cell with `:name: exercise`.")
        return common | {"grade_id": name, "solution": True, "grade": False, "locked": False}
    if judged:
        identity = "-".join(("check", *(name for _, name in judged)))
        return common | {"grade_id": identity, "solution": False, "grade": True, "points": len(judged), "locked": True}
    return None


def _is_nearly_a_marker(text: str) -> bool:
    return re.fullmatch(r"#+ *(BEGIN|END) +SOLUTIONS?\W*", text, re.IGNORECASE) is not None


def _refuse_bad_ids(path: Path, notebook: NotebookNode) -> None:
    seen: set[str] = set()
    for place, cell in enumerate(notebook.cells):
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", str(cell.id)):
            raise SourceError(f"{locate(path, place)}: {cell.id!r} is no cell name; use letters, digits, _ and -.")
        if cell.id in seen:
            raise SourceError(f"{locate(path, place)}: a second cell is called {cell.id!r}.")
        seen.add(cell.id)
