"""Where functions, lambdas and classes were written, in a file or in a notebook's cell, and which names their source uses.

Not here: what these names mean, and how it is taken along (`collect.py`).
"""

from __future__ import annotations

import ast
import inspect
import linecache
import symtable
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any, TypeVar

from course_lib.errors import PlainError, cells, origin_of


class CannotBundle(PlainError):
    """Something that the answer needs cannot be taken into another process. `args[0]` says what, and what to do."""


class NotDefined(CannotBundle):
    """The file does not define a function of the name that is asked for."""


@dataclass(frozen=True)
class Source:
    """A piece of source, as if it stood at the left margin; `origin` is "cell In[3]" or a file's name."""

    text: str
    origin: str
    first_line: int


def of_function(function: FunctionType) -> Source:
    """The `def` of a function, with its decorators."""
    filename = function.__code__.co_filename
    linecache.checkcache(filename)
    try:
        lines, first_line = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        raise CannotBundle(f"The source of `{function.__name__}` cannot be found. {_cure(filename)}") from error
    return Source(_at_the_margin("".join(lines)), origin_of(filename), first_line)


def function_of(text: str) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """The function that a source text defines."""
    return next(node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def decorators(here: Source) -> list[str]:
    """The decorators of a function's source, as text."""
    return [ast.unparse(node) for node in function_of(here.text).decorator_list]


def without_decorators(here: Source) -> Source:
    """A function's source, from its `def` on."""
    skipped = function_of(here.text).lineno - 1
    return Source("".join(here.text.splitlines(keepends=True)[skipped:]), here.origin, here.first_line + skipped)


def of_lambda(function: FunctionType) -> Source:
    """The text of a lambda: that whose body stands exactly where this one's code comes from."""
    code = function.__code__
    text = "".join(_lines(code.co_filename))
    for node in _nodes(text, ast.Lambda):
        body = node.body
        if (body.lineno, body.end_lineno, body.col_offset, body.end_col_offset) in set(code.co_positions()):
            return Source(f"{ast.get_source_segment(text, node)}\n", origin_of(code.co_filename), node.lineno)
    raise CannotBundle(f"The source of a lambda cannot be found. {_cure(code.co_filename)}")


def of_class(value: type) -> Source:
    """A class with its decorators: as it stands in the newest cell that defines one of its name, or in its module's file."""
    for filename in _files_of_class(value):
        lines = _lines(filename)
        for node in reversed(_nodes("".join(lines), ast.ClassDef)):
            if node.name == value.__name__:
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                return Source(_at_the_margin("".join(lines[first - 1 : node.end_lineno])), origin_of(filename), first)
    raise CannotBundle(f"The source of the class `{value.__name__}` cannot be found; define it in a cell or in a file.")


# --- what a source uses --------------------------------------------------------------------------------------------


def named_defaults(function: FunctionType, text: str) -> dict[str, Any]:
    """The parameters' defaults that are names, and what these meant when the function was defined."""
    arguments = function_of(text).args
    named = function.__kwdefaults__ or {}
    given = [*zip(arguments.defaults, function.__defaults__ or (), strict=True)]
    given += [
        (node, named[argument.arg]) for argument, node in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if node
    ]
    return {node.id: value for node, value in given if isinstance(node, ast.Name)}


def free_names(text: str) -> tuple[set[str], set[str]]:
    """Names that a piece of source takes from outside, and those that its annotations mention.

    A source that asks for `globals()` also takes the names that it spells as strings.
    """
    tree = ast.parse(text)
    bare = _WithoutAnnotations()
    bare.visit(tree)
    names: set[str] = set()
    tables = [symtable.symtable(ast.unparse(tree), "answer", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (table.get_type() == "module" or symbol.is_global()):
                names.add(symbol.get_name())
    if "globals" in names:
        names |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return names, bare.names


class _WithoutAnnotations(ast.NodeTransformer):
    """Takes annotations out of a tree, and keeps the names that they mention."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def visit(self, node: ast.AST) -> Any:
        for place in ("annotation", "returns"):
            if (annotation := getattr(node, place, None)) is not None:
                self.names |= {name.id for name in ast.walk(annotation) if isinstance(name, ast.Name)}
                setattr(node, place, ast.Constant(None))
        return super().visit(node)


# --- places ---------------------------------------------------------------------------------------------------------


def _files_of_class(value: type) -> Iterator[str]:
    """A class does not know where it was written; its methods do, but it may have none, or generated ones."""
    yield from sorted(cells(), key=lambda filename: -cells()[filename])
    yield from (member.__code__.co_filename for member in vars(value).values() if isinstance(member, FunctionType))
    module_file = getattr(sys.modules.get(value.__module__), "__file__", None)
    if module_file:
        yield module_file


Node = TypeVar("Node", bound=ast.AST)


def _nodes(text: str, kind: type[Node]) -> list[Node]:
    """All nodes of one kind in a source text; none if Python cannot read it, as a cell that failed."""
    try:
        return [node for node in ast.walk(ast.parse(text)) if isinstance(node, kind)]
    except SyntaxError:
        return []


def _lines(filename: str) -> list[str]:
    linecache.checkcache(filename)
    return linecache.getlines(filename)


def _at_the_margin(text: str) -> str:
    return textwrap.dedent(text).rstrip("\n") + "\n"


def _cure(filename: str) -> str:
    if "timed" in filename or "magic" in filename:
        return (
            "It was defined in a cell with a magic such as %%time, which hides its source: remove the magic and run the "
            "cell again."
        )
    if filename.startswith("<"):
        return "It was made by exec or typed at a plain Python prompt: define it in a notebook cell or in a file."
    return f"The file {filename} cannot be read any more: define the function in a notebook cell or an existing file."
