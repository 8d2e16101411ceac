"""An answer as the source of one module that can run in a process of its own, and the lines of it as their author knows them.

`bundle_file` takes a file as it is. What cannot travel raises `CannotBundle`, whose message says why and what to do.

Not here: functions that a notebook's Python holds (`collect.py`), running the result (`sandbox.py`).
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from course_lib.checking.findings import SourceLine
from course_lib.checking.source import CannotBundle


@dataclass(frozen=True)
class Chunk:
    """A stretch of the bundle: where it stood before (`origin`, `first_line`), and where it begins now (`start`)."""

    start: int
    length: int
    origin: str
    first_line: int


@dataclass(frozen=True)
class Bundle:
    """A self-contained module: `source` defines the function `name`. `sys_path` holds folders that its imports need."""

    name: str
    source: str
    chunks: tuple[Chunk, ...]
    sys_path: tuple[str, ...] = ()

    def line(self, number: int) -> SourceLine:
        """A line of the bundle as its author knows it."""
        lines = self.source.splitlines()
        text = lines[number - 1].strip() if 0 < number <= len(lines) else ""
        for chunk in self.chunks:
            if chunk.start <= number < chunk.start + chunk.length:
                return SourceLine(chunk.origin, chunk.first_line + number - chunk.start, text)
        return SourceLine("answer", number, text)


def bundle_file(path: Path, name: str) -> Bundle:
    """The file at `path` as it is. It must define `name` at top level; it is not run here."""
    try:
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CannotBundle(f"{path} cannot be read: {error}.") from error
    try:
        tree = ast.parse(source, str(path))
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        where = f", line {line}" if line else ""
        raise CannotBundle(f"{path.name}{where}: {getattr(error, 'msg', error)}. Python cannot read this file.") from error
    if name not in _defined(tree):
        others = [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and not node.decorator_list]
        instead = f" It defines {', '.join(f'`{other}`' for other in others)}." if others else ""
        raise CannotBundle(f"{path.name} does not define a function called `{name}` at top level.{instead}")
    chunk = Chunk(1, len(source.splitlines()), path.name, 1)
    return Bundle(name, source, (chunk,), (str(path.resolve().parent),))


def _defined(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update(alias.asname or alias.name for alias in node.names)
    return names
