"""A notebook's file as a bundle: the lines of its code cells that a function needs, in their order.

It is as if the notebook had been run from top to bottom, so that of two definitions the last counts. Only statements that
define what the function uses are taken, directly or through others; checks, experiments and figures are left out.

Not here: functions that a running notebook holds (`collect.py`).
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import nbformat
from IPython.core.inputtransformer2 import TransformerManager

from course_lib.checking import source
from course_lib.checking.bundle import Bundle, Chunk
from course_lib.checking.source import CannotBundle, NotDefined

TRANSPARENT = ("capture", "prun", "time", "timeit")
"""Cell magics under which the rest of the cell is Python that is run as it is. Cells under others are left out."""


@dataclass(frozen=True)
class Cell:
    """Python that was written in one place: what reports call the place, and the text."""

    origin: str
    text: str


@dataclass(frozen=True)
class _Statement:
    """A statement at the top level of a cell (the first is cell 0).

    It may bind names (`x = 1`, `def x():`), change what a name means (`x[0] = 1`, `x.append(1)`), and use names.
    """

    cell: int
    node: ast.stmt
    binds: frozenset[str]
    changes: frozenset[str]
    uses: frozenset[str]

    @property
    def imports(self) -> bool:
        return isinstance(self.node, ast.Import | ast.ImportFrom)

    @property
    def lines(self) -> range:
        """The numbers of its lines in the cell, decorators included."""
        first = min([self.node.lineno, *(decorator.lineno for decorator in getattr(self.node, "decorator_list", ()))])
        return range(first, (self.node.end_lineno or first) + 1)


def bundle_notebook(path: Path, name: str) -> Bundle:
    """The function `name` of the notebook at `path`, with all it uses. Nothing is run here."""
    try:
        notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    except Exception as error:  # nbformat raises errors of many kinds
        raise CannotBundle(f"{path} cannot be read as a notebook: {error}.") from error
    cells = [cell_of(cell.source, number, path.name) for number, cell in enumerate(code_cells(notebook), 1)]
    try:
        bundle = bundle_cells(cells, name)
    except NotDefined as error:
        raise NotDefined(f"No code cell of {path.name} defines a function called `{name}`.") from error
    return replace(bundle, sys_path=(str(path.resolve().parent),))


def code_cells(notebook: Any) -> list[Any]:
    """The code cells of a notebook of nbformat 4; the first is cell 1."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def cell_of(text: str, number: int, file: str) -> Cell:
    """A code cell with this text, without IPython's own syntax."""
    origin = f"{file}, code cell {number}"
    try:
        return Cell(origin, _python(text))
    except Exception as error:  # IPython's transformers raise errors of many kinds, for cells that nobody would write
        raise CannotBundle(f"{origin}: IPython cannot read this cell ({type(error).__name__}).") from error


def bundle_cells(cells: Sequence[Cell], name: str) -> Bundle:
    """The function `name` with all that it uses of these cells. Raises `NotDefined` if none of them defines it."""
    statements = [one for number, cell in enumerate(cells) for one in _statements(cell, number)]
    if not any(name in one.binds for one in statements):
        raise NotDefined(f"`{name}` is not defined.")
    return _joined(_needed(statements, name), cells, name)


def see_that_python_reads(cell: Cell) -> None:
    """Raise `CannotBundle` if Python cannot read the cell, with where and why."""
    _statements(cell, 0)


def _python(cell: str) -> str:
    """A cell without IPython's own syntax, line by line."""
    first, _, rest = cell.partition("\n")
    if first.startswith("%%"):
        return f"\n{_python(rest)}" if first[2:].split()[:1] in ([magic] for magic in TRANSPARENT) else ""
    text = cell.lstrip("\n")  # IPython would drop these lines
    return "\n" * (len(cell) - len(text)) + str(TransformerManager().transform_cell(text))


def _statements(cell: Cell, number: int) -> list[_Statement]:
    statements = []
    try:
        for node in ast.parse(cell.text).body:
            alone = ast.unparse(node)
            symbols = symtable.symtable(alone, cell.origin, "exec").get_symbols()
            binds = {symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()}
            uses = frozenset.union(*map(frozenset, source.free_names(alone)))
            statements.append(_Statement(number, node, frozenset(binds), frozenset(_changed(node)), uses))
    except SyntaxError as error:
        raise CannotBundle(f"{cell.origin}, line {error.lineno}: {error.msg}. Python cannot read this cell.") from error
    except (ValueError, RecursionError, MemoryError) as error:  # such as a NUL, or brackets nested a thousand times
        raise CannotBundle(f"{cell.origin}: Python cannot read this cell ({type(error).__name__}).") from error
    return statements


def _changed(node: ast.AST) -> Iterator[str]:
    """Names of the objects that a statement changes; what a function does when it is called is not looked at."""
    called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    part = node.value.func if called else node  # type: ignore[attr-defined]
    if isinstance(part, ast.Attribute | ast.Subscript) and (called or isinstance(part.ctx, ast.Store)):
        while isinstance(part, ast.Attribute | ast.Subscript):
            part = part.value
        if isinstance(part, ast.Name):
            yield part.id
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _changed(child)


def _needed(statements: list[_Statement], name: str) -> list[_Statement]:
    """The statements that `name` needs, directly or through others; not what is called on a module, as `torch.manual_seed`."""
    modules = {bound for one in statements if one.imports for bound in one.binds}
    names, number = {name}, 0
    while len(names) > number:
        number = len(names)
        needed = [one for one in statements if one.binds & names or (one.changes - modules) & names or _takes_all(one.node)]
        names = names.union(*(one.uses for one in needed))
    return needed


def _takes_all(node: ast.stmt) -> bool:
    """Whether it is `from … import *`, or an import from `__future__`."""
    return isinstance(node, ast.ImportFrom) and (node.module == "__future__" or node.names[0].name == "*")


def _joined(statements: list[_Statement], cells: Sequence[Cell], name: str) -> Bundle:
    """The statements' lines as one module, with a chunk for each run of neighbouring lines."""
    future = [one for one in statements if isinstance(one.node, ast.ImportFrom) and one.node.module == "__future__"]
    text, chunks = "".join(f"{ast.unparse(one.node)}\n" for one in future), []
    written = [cell.text.split("\n") for cell in cells]
    places = sorted({(one.cell, line) for one in statements if one not in future for line in one.lines})
    for (cell, _), run in groupby(enumerate(places), key=lambda place: (place[1][0], place[1][1] - place[0])):
        lines = [line for _, (_, line) in run]
        chunks.append(Chunk(text.count("\n") + 1, len(lines), cells[cell].origin, lines[0]))
        text += "".join(f"{written[cell][line - 1]}\n" for line in lines)
    return Bundle(name, text, tuple(chunks))
