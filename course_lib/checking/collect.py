"""A function and everything it uses, gathered into a bundle: how an answer leaves a notebook.

`bundle_function` starts from a function, often defined in a notebook's cell, and follows the names that it uses. What was
written in the same place comes along as source: functions, kernels, lambdas, classes. Modules and what libraries offer come
along as imports, data as literals. What cannot travel raises `CannotBundle`, whose message says why and what to do.

Not here: finding source (`source.py`), files (`bundle.py`, `notebook.py`).
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
import functools
import inspect
import itertools
import re
import sys
import textwrap
from dataclasses import dataclass, field
from types import FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

from course_lib.checking import literal, source
from course_lib.checking.bundle import Bundle, Chunk
from course_lib.checking.source import CannotBundle
from course_lib.device import prepare


def bundle_function(answer: Any, name: str) -> Bundle:
    """The function `answer`, given as a solution of the exercise `name`, with all it uses."""
    callee = answer.func if isinstance(answer, functools.partial) else getattr(answer, "__func__", answer)
    function = _function_in(callee)
    if _is_kernel(answer) and function is not None:
        raise CannotBundle(
            f"`{function.__name__}` is a kernel (it is decorated with @triton.jit). Pass the Python function that "
            "launches it: the one that takes and returns tensors."
        )
    if function is None:
        raise CannotBundle(
            f"check needs the function itself, but got {described(answer)}. Write `check({name!r}, {name})`, "
            "without calling the function."
        )
    collector = _Collector(function.__module__)
    return collector.bundle(collector.expression(answer, None, name))


def bundle_kernel(kernel: Any) -> Bundle:
    """A kernel, decorated with `@triton.jit` and perhaps more, under its own name, with all it uses."""
    function = _function_in(kernel)
    if function is None or not _is_kernel(kernel):
        raise CannotBundle(f"A kernel is needed, a function that is decorated with @triton.jit; this is {described(kernel)}.")
    collector = _Collector(function.__module__)
    return collector.bundle(collector.expression(kernel, None, function.__name__))


@dataclass(frozen=True)
class _Piece:
    """Source that is taken along, with where it stood, and what must stand before and after it."""

    text: str
    origin: str
    first_line: int
    before: str = ""
    after: str = ""


@dataclass
class _Collector:
    """Gathers the pieces of a bundle, dependencies first. `home` is the module that travels as source.

    `bound` is what each name of the bundle means; `made` the text that means an object, by its id.
    """

    home: str
    pieces: list[_Piece] = field(default_factory=list)
    imports: dict[str, None] = field(default_factory=dict)
    bound: dict[str, Any] = field(default_factory=dict)
    made: dict[int, str] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)
    under_way: set[int] = field(default_factory=set)
    future_annotations: bool = False

    def bundle(self, answer: str) -> Bundle:
        """All that was gathered; `answer` is the text that means the answer's function."""
        if not answer.isidentifier():
            answer, text = "_answer", answer
            self.pieces.append(_Piece(f"{answer} = {text}\n", "check", 1))
        future = ["from __future__ import annotations"] if self.future_annotations else []
        text = "\n".join([*future, *self.imports, ""])
        chunks = []
        for piece in self.pieces:
            text += f"\n\n{piece.before}"
            chunks.append(Chunk(text.count("\n") + 1, piece.text.count("\n"), piece.origin, piece.first_line))
            text += piece.text + piece.after
        return Bundle(answer, text, tuple(chunks), tuple(path for path in sys.path if path))

    def bind(self, name: str, value: Any, user: str) -> None:
        """Make `name` mean `value` in the bundle; `user` is what needs it, for messages."""
        if name in self.bound:
            if not literal.same(self.bound[name], value):
                raise CannotBundle(f"`{name}` means two different things in the functions that `{user}` uses; rename one.")
            return
        if getattr(builtins, name, None) is value:
            return
        self.bound[name] = value
        try:
            text = self.expression(_as_on_a_gpu(value), name, user)
        except CannotBundle:
            del self.bound[name]
            raise
        if text != name:
            self.pieces.append(_Piece(f"{name} = {text}\n", "constant", 1))
        if literal.literal(value) is None:
            self.made.setdefault(id(value), name)

    def expression(self, value: Any, name: str | None, user: str) -> str:
        """Text that means `value` in the bundle, after all that this needs. `name` is what `value` is called, if anything."""
        if id(value) in self.made:
            return self.made[id(value)]
        if (text := literal.literal(value)) is not None:
            self.imports.update(dict.fromkeys(literal.IMPORTS))
            return text
        if id(value) in self.under_way:
            raise CannotBundle(f"`{user}` uses {described(value)} that refers to itself. Build it inside the function.")
        self.kept.append(value)
        self.under_way.add(id(value))
        try:
            return self.taken(value, name, user)
        except CannotBundle:
            self.made.pop(id(value), None)
            raise
        finally:
            self.under_way.remove(id(value))

    def taken(self, value: Any, name: str | None, user: str) -> str:
        function = _function_in(value)
        if isinstance(value, ModuleType):
            name = name or self.fresh(value.__name__)
            self.imports[f"import {value.__name__} as {name}"] = None
            return name
        if function is not None and function.__module__ == self.home:
            if function.__name__ == "<lambda>":
                return self.with_lambda(function, name)
            return self.with_function(value, function, name)
        if isinstance(value, type) and value.__module__ == self.home:
            return self.with_class(value, user)
        if (where := literal.importable(value)) is not None:
            name = name or self.fresh(where[1])
            self.imports[f"from {where[0]} import {where[1]} as {name}"] = None
            return name
        if (text := self.composed(value, user)) is not None:
            return text
        raise CannotBundle(_cannot_take(name, value, user))

    def composed(self, value: Any, user: str) -> str | None:
        """An expression that makes `value` from its parts, or None if it is not known how."""

        def part(value: Any) -> str:
            return self.expression(value, None, user)

        kind = type(value)
        if kind in (tuple, list, set, frozenset):
            return f"{kind.__name__}([{', '.join(map(part, value))}])"
        if kind is dict:
            return "{" + ", ".join(f"{part(key)}: {part(item)}" for key, item in value.items()) + "}"
        if isinstance(value, enum.Enum):
            return f"{part(kind)}[{value.name!r}]"
        if isinstance(value, tuple) and hasattr(kind, "_make"):
            return f"{part(kind)}._make({part(tuple(value))})"
        if kind is functools.partial:
            return f"{part(functools.partial)}({part(value.func)}, *{part(value.args)}, **{part(value.keywords)})"
        if kind is MethodType:
            return f"{part(value.__self__)}.{value.__name__}"
        if kind is SimpleNamespace:
            return f"{part(kind)}(**{part(vars(value))})"
        plain = kind.__module__ == self.home or dataclasses.is_dataclass(kind)
        if (plain or (kind.__module__, kind.__name__) == ("triton.runtime.autotuner", "Config")) and (
            attributes := literal.attributes(value)
        ) is not None:
            return f"{part(literal.restored)}({part(kind)}, {part(attributes)})"
        return None

    def with_function(self, value: Any, function: FunctionType, name: str | None) -> str:
        """Take a function or kernel along as source, after all it uses; returns what it is called in the bundle.

        One that is not what its own name means, or that captured variables, is put into a function that makes it, so that its
        names do not get into the way of others.
        """
        called, kernel = function.__name__, _is_kernel(value)
        here = source.of_function(function)
        captured = dict(inspect.getclosurevars(function).nonlocals) if function.__closure__ else {}
        itself = {used for used, item in captured.items() if item is value}
        around = function.__globals__ | captured
        defaults = source.named_defaults(function, here.text)
        changed = {used: item for used, item in defaults.items() if not literal.same(around.get(used, around), item)}
        given = {} if kernel else {used: item for used, item in captured.items() if used not in itself} | changed
        own = not given and (called == name or function.__globals__.get(called) is value)
        label = called if own else name or self.fresh(called)
        self.name_is(label, value, called)
        decorators = source.decorators(here)
        if kernel:
            _must_be_decorated(value, called, decorators)
        if kernel and not decorators:
            self.imports.update(dict.fromkeys(literal.IMPORTS))
            plain = self.with_function(function, function, None)
            self.pieces.append(_Piece(f"{label} = _triton.jit({plain})\n", here.origin, here.first_line))
            return label
        if kernel:
            for used, item in captured.items():  # Triton's interpreter gives a kernel its globals only
                self.bind(used, item, called)
        elif value is function and decorators and not own:
            here = source.without_decorators(here)  # this is what the outermost of them was given
        arguments = {used: self.expression(item, None, called) for used, item in given.items()}
        known = captured.keys() | given.keys() | ({called} if label == called else set())
        self.with_uses(here.text, function.__globals__ | defaults, called, known)
        self.future_annotations |= bool(function.__code__.co_flags & _FUTURE_ANNOTATIONS)
        if own:
            self.pieces.append(_Piece(here.text, here.origin, here.first_line))
            return label
        before = f"def _make_{label}({', '.join(arguments)}):\n"
        after = f"    return {called}\n\n\n{label} = _make_{label}({', '.join(arguments.values())})\n"
        self.pieces.append(_Piece(textwrap.indent(here.text, "    "), here.origin, here.first_line, before, after))
        return label

    def with_lambda(self, function: FunctionType, name: str | None) -> str:
        """Take a lambda along as source; see `with_function`."""
        here = source.of_lambda(function)
        captured = dict(inspect.getclosurevars(function).nonlocals)
        label = name or self.fresh("lambda")
        self.name_is(label, function, label)
        arguments = {used: self.expression(item, None, label) for used, item in captured.items()}
        self.with_uses(f"({here.text})", function.__globals__, label, captured.keys() | {label})
        before, after = f"{label} = (lambda {', '.join(arguments)}: (", f"))({', '.join(arguments.values())})\n"
        self.pieces.append(_Piece(here.text, here.origin, here.first_line, before, after))
        return label

    def with_class(self, value: type, user: str) -> str:
        """Take a class of the answer's own module along as source, after all it uses."""
        called = value.__name__
        self.name_is(called, value, user)
        try:
            here = source.of_class(value)
        except CannotBundle:
            if not hasattr(value, "_field_defaults"):
                raise
            self.imports["import collections as _collections"] = None
            defaults = self.expression(tuple(value._field_defaults.values()), None, called)
            text = f"{called} = _collections.namedtuple({called!r}, {list(value._fields)!r}, defaults={defaults})\n"  # type: ignore[attr-defined]
            self.pieces.append(_Piece(text, "constant", 1))
            return called
        self.with_uses(here.text, vars(sys.modules[value.__module__]), called, {called})
        self.pieces.append(_Piece(here.text, here.origin, here.first_line))
        return called

    def with_uses(self, text: str, namespace: dict[str, Any], user: str, known: set[str]) -> None:
        """Bind what a piece of source takes from outside, but for the names in `known`.

        What only annotations mention, and cannot be taken, is left out: annotations are not evaluated then.
        """
        needed, annotated = source.free_names(text)
        for used in sorted(needed & namespace.keys() - known):
            self.bind(used, namespace[used], user)
        for used in sorted((annotated - needed) & namespace.keys() - known):
            try:
                self.bind(used, namespace[used], user)
            except CannotBundle:
                self.future_annotations = True

    def name_is(self, name: str, value: Any, user: str) -> None:
        """`name` will be what the bundle calls `value`."""
        if not literal.same(self.bound.setdefault(name, value), value):
            raise CannotBundle(f"`{name}` means two different things in the functions that `{user}` uses; rename one.")
        self.made[id(value)] = name

    def fresh(self, called: str) -> str:
        """A name that nothing has yet."""
        stem = f"_{re.sub(r'[^0-9A-Za-z_]', '_', called)}"
        numbered = (f"{stem}_{number}" for number in itertools.count(2))
        return next(name for name in itertools.chain([stem], numbered) if name not in self.bound)


# --- functions ----------------------------------------------------------------------------------------------------

_FUTURE_ANNOTATIONS = 0x1000000  # CO_FUTURE_ANNOTATIONS
_TUNERS = {"Autotuner": "autotune", "Heuristics": "heuristics"}


def _is_kernel(value: Any) -> bool:
    return type(value).__module__.startswith("triton.") and hasattr(value, "fn")


def _function_in(value: Any) -> FunctionType | None:
    """The function as it was written: inside a kernel, a tuned kernel, a cache, or what a well-behaved decorator made of it."""
    for _ in range(10):
        if _is_kernel(value):
            value = value.fn
        elif isinstance(value, functools._lru_cache_wrapper):
            value = value.__wrapped__
        else:
            break
    if not isinstance(value, FunctionType):
        return None
    written = inspect.unwrap(value)
    return written if isinstance(written, FunctionType) else value


def _must_be_decorated(kernel: Any, called: str, decorators: list[str]) -> None:
    """What was made by calling `triton.autotune(…)(kernel)` cannot be seen in the kernel's source."""
    while _is_kernel(kernel):
        needed = _TUNERS.get(type(kernel).__name__)
        if needed and not any(needed in decorator for decorator in decorators):
            raise CannotBundle(f"`{called}` was tuned by calling triton.{needed}: write `@triton.{needed}(…)` above its `def`.")
        kernel = kernel.fn


def _as_on_a_gpu(value: Any) -> Any:
    """Where there is no GPU, a global "cpu" tells where kernels run; in the answer's process they run on a made-up GPU."""
    if prepare().mode == "interpreter" and literal.literal(value) in ("'cpu'", "_torch.device('cpu')"):
        return "cuda" if isinstance(value, str) else type(value)("cuda", 0)
    return value


def described(value: Any) -> str:
    """A value by its type, with an article.

    >>> described("text"), described(1)
    ('a str', 'an int')
    """
    kind = type(value).__name__
    return f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}" if value is not None else "None"


def _cannot_take(name: str | None, value: Any, user: str) -> str:
    if type(value).__name__.endswith("ExitAutocall"):
        return f"`{user}` calls `{name}`, which ends the notebook's Python. An answer ends with `return`."
    uses = f"`{user}` uses {f'`{name}`, ' if name else ''}{described(value)} from outside the function"
    if type(value).__module__.startswith(("torch", "numpy")):
        return f"{uses}. An answer must work from its arguments: pass it in, or build it inside the function."
    return f"{uses}, which cannot be taken along. Build it inside the function, or import it from a file."
