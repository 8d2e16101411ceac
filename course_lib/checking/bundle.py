"""An answer and everything it uses, as the source of one module that can run in a process of its own.

`bundle_function` starts from a function (often defined in a notebook cell) and follows the names it uses: helper and
kernel functions come along as source, modules and library objects as imports, constants as literals. `bundle_file`
takes a file as it is. What cannot travel raises `CannotBundle`, whose message says why and what to do.

Not here: running the result (`sandbox.py`).
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import symtable
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from course_lib.checking.findings import SourceLine


class CannotBundle(Exception):
    """Something that the answer needs cannot be taken into another process. `args[0]` says what, and what to do."""


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
        raise CannotBundle(f"{path.name} does not define a function called `{name}` at top level.")
    chunk = Chunk(1, len(source.splitlines()), path.name, 1)
    return Bundle(name, source, (chunk,), (str(path.resolve().parent),))


def bundle_function(answer: Any, name: str) -> Bundle:
    """The function `answer`, to be called `name`, with all it uses."""
    function = _python_function(answer)
    if function is None:
        raise CannotBundle(
            f"check needs the function itself, but got {_described(answer)}. Write `check({name!r}, {name})`, "
            "without calling the function."
        )
    if function is not answer:
        raise CannotBundle(
            f"`{function.__name__}` is a kernel (it is decorated with @triton.jit). Pass the Python function that "
            "launches it: the one that takes and returns tensors."
        )
    collector = _Collector(function.__module__)
    local_name = collector.add_function(answer, function)
    if local_name != name:
        collector.chunks.append((f"{name} = {local_name}\n", "check", 1))
    return collector.bundle(name)


def bundle_kernel(kernel: Any) -> Bundle:
    """A kernel, decorated with `@triton.jit` and perhaps more, under its own name, with all it uses."""
    function = _python_function(kernel)
    if function is None or function is kernel:
        raise CannotBundle(f"A kernel is needed, a function that is decorated with @triton.jit; this is {_described(kernel)}.")
    collector = _Collector(function.__module__)
    return collector.bundle(collector.add_function(kernel, function))


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


def _python_function(value: Any) -> FunctionType | None:
    """The Python function inside a plain function, a `@triton.jit` kernel, or an autotuned kernel."""
    for _ in range(10):
        if isinstance(value, FunctionType):
            return value
        if not type(value).__module__.startswith("triton."):
            return None
        value = getattr(value, "fn", None)
    return None


def _described(value: Any) -> str:
    kind = type(value).__name__
    return f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}" if value is not None else "None"


@dataclass
class _Collector:
    """Gathers the chunks of a bundle, dependencies first. `home` is the module whose functions travel as source."""

    home: str
    chunks: list[tuple[str, str, int]] = field(default_factory=list)
    imports: dict[str, None] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    sources: dict[int, str] = field(default_factory=dict)
    future_annotations: bool = False

    def bundle(self, name: str) -> Bundle:
        future = ["from __future__ import annotations"] if self.future_annotations else []
        text = "\n".join([*future, *self.imports, ""])
        chunks = []
        for source, origin, first_line in self.chunks:
            text += "\n\n"
            chunks.append(Chunk(text.count("\n") + 1, source.count("\n"), origin, first_line))
            text += source
        return Bundle(name, text, tuple(chunks), tuple(path for path in sys.path if path))

    def add_function(self, value: Any, function: FunctionType) -> str:
        """Take a function along as source, after all it uses; returns the name that it defines."""
        if id(value) in self.sources:
            return self.sources[id(value)]
        lines, first_line = _source_of(function)
        source = textwrap.dedent("".join(lines))
        source += "" if source.endswith("\n") else "\n"
        self.sources[id(value)] = function.__name__
        self.known.setdefault(function.__name__, id(value))
        self.future_annotations |= bool(function.__code__.co_flags & _FUTURE_ANNOTATIONS)
        closure = inspect.getclosurevars(function).nonlocals if function.__closure__ else {}
        for used in sorted(_free_names(source) - {function.__name__}):
            if used in closure:
                self.add(used, closure[used], function.__name__)
            elif used in function.__globals__:
                self.add(used, function.__globals__[used], function.__name__)
        self.chunks.append((source, _origin(function.__code__), first_line))
        return function.__name__

    def add(self, name: str, value: Any, user: str) -> None:
        """Make `name` mean `value` in the bundle; `user` is the function that needs it, for messages."""
        if name in self.known:
            if self.known[name] != id(value):
                raise CannotBundle(f"`{name}` means two different things in the functions that `{user}` uses; rename one.")
            return
        if getattr(builtins, name, None) is value:
            return
        self.known[name] = id(value)
        function = _python_function(value)
        if isinstance(value, ModuleType):
            self.imports[f"import {value.__name__} as {name}"] = None
        elif function is not None and function.__module__ == self.home:
            defined = self.add_function(value, function)
            if defined != name:
                self.chunks.append((f"{name} = {defined}\n", _origin(function.__code__), 1))
        elif isinstance(value, type) and value.__module__ == self.home:
            self.add_class(name, value)
        elif (literal := _literal(value)) is not None:
            self.imports.update(dict.fromkeys(_LITERAL_IMPORTS))
            self.chunks.append((f"{name} = {literal}\n", "constant", 1))
        elif (imported := _import_of(value, name)) is not None:
            self.imports[imported] = None
        else:
            raise CannotBundle(_cannot_take(name, value, user))

    def add_class(self, name: str, value: type) -> None:
        """Take a class of the answer's own module along as source."""
        source, origin, first_line = _class_source(value)
        used = _free_names(source) - {name}
        namespace = vars(sys.modules[value.__module__])
        for other in sorted(used & namespace.keys()):
            self.add(other, namespace[other], name)
        self.chunks.append((source, origin, first_line))


_FUTURE_ANNOTATIONS = 0x1000000  # CO_FUTURE_ANNOTATIONS


def _free_names(source: str) -> set[str]:
    """Names that a piece of source takes from outside: globals of its functions, and all that its decorators use."""
    names: set[str] = set()
    tables = [symtable.symtable(source, "answer", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (table.get_type() == "module" or symbol.is_global()):
                names.add(symbol.get_name())
    return names


def _source_of(function: FunctionType) -> tuple[list[str], int]:
    if function.__name__ == "<lambda>":
        raise CannotBundle("A lambda has no source of its own to take along. Write it as a function with `def`.")
    filename = function.__code__.co_filename
    linecache.checkcache(filename)
    try:
        return inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        if "timed" in filename or "magic" in filename:
            cure = (
                "It was defined in a cell with a magic such as %%time, which hides its source: remove the magic and run the "
                "cell again."
            )
        elif filename.startswith("<"):
            cure = "It was made by exec or typed at a plain Python prompt: define it in a notebook cell or in a file."
        else:
            cure = f"The file {filename} cannot be read any more: define the function in a notebook cell or an existing file."
        raise CannotBundle(f"The source of `{function.__name__}` cannot be found. {cure}") from error


def _class_source(value: type) -> tuple[str, str, int]:
    codes = [member.__code__ for member in vars(value).values() if isinstance(member, FunctionType)]
    for code in codes:
        lines = linecache.getlines(code.co_filename)
        try:
            tree = ast.parse("".join(lines))
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name == value.__name__:
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                source = textwrap.dedent("".join(lines[first - 1 : node.end_lineno])).rstrip("\n") + "\n"
                return source, _origin(code), first
    raise CannotBundle(f"The source of the class `{value.__name__}` cannot be found; define it in a file, or use a function.")


def _origin(code: CodeType) -> str:
    """Where code comes from, in the words of its author: "cell In[3]" or a file's name."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    numbers = getattr(getattr(shell, "compile", None), "_filename_map", {})
    if code.co_filename in numbers:
        return f"cell In[{numbers[code.co_filename]}]"
    return Path(code.co_filename).name


_LITERAL_IMPORTS = ("import torch as _torch", "import triton.language as _tl")


def _literal(value: Any) -> str | None:
    """Source text whose value is `value`, or None if it is not plain data."""
    kind = type(value)
    if value is None or kind in (bool, int, str, bytes):
        return repr(value)
    if kind is float:
        return f"float({str(value)!r})"
    if kind in (tuple, list, set, frozenset):
        items = [_literal(item) for item in value]
        if any(item is None for item in items):
            return None
        return f"{kind.__name__}([{', '.join(map(str, items))}])"
    if kind is dict:
        pairs = [(_literal(key), _literal(item)) for key, item in value.items()]
        if any(key is None or item is None for key, item in pairs):
            return None
        return "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
    return _library_literal(value)


def _library_literal(value: Any) -> str | None:
    module, kind = type(value).__module__, type(value).__name__
    if kind in ("dtype", "device") and module == "torch":
        return f"_{value}" if kind == "dtype" else f"_torch.device({str(value)!r})"
    if module.startswith("triton.language"):
        if kind == "constexpr":
            inner = _literal(value.value)
            return None if inner is None else f"_tl.constexpr({inner})"
        if kind == "dtype":
            return f"_tl.dtype({value.name!r})"
    return None


def _import_of(value: Any, name: str) -> str | None:
    """An import statement that binds `name` to `value`, if `value` is what some module calls it."""
    function: Callable[..., Any] = _python_function(value) or value
    module = getattr(function, "__module__", None)
    called = getattr(function, "__name__", None)
    if not isinstance(module, str) or not isinstance(called, str) or module == "__main__":
        return None
    if getattr(sys.modules.get(module), called, None) is not value:
        return None
    return f"from {module} import {called} as {name}"


def _cannot_take(name: str, value: Any, user: str) -> str:
    module = type(value).__module__
    if module.startswith(("torch", "numpy")):
        return (
            f"`{user}` uses `{name}`, {_described(value)} from outside the function. "
            "An answer must work from its arguments: pass it in, or build it inside the function."
        )
    return (
        f"`{user}` uses `{name}`, {_described(value)} from outside the function, which cannot be taken along. "
        "Build it inside the function, or import it from a file."
    )
