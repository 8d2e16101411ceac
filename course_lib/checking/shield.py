"""What an answer finds of its judge within its own process: as little as can be, and nothing that it could change unseen.

One Python process has no walls, so this is no protection against somebody who is determined to get through: the observer
that notes what kernels do has to be in the process that it observes. It stops what is within easy reach: importing the
judge, walking frames or the garbage collector's lists to its objects, and replacing functions that it uses. Whoever marks
for a grade should also read the answers.

Walls that do hold, between this process and the rest of the machine, are in `confine.py`.
"""

from __future__ import annotations

import ast
import builtins
import gc
import hmac
import io
import json
import os
import pathlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from types import BuiltinFunctionType, FrameType, ModuleType
from typing import Any, NoReturn

import numpy as np
import torch

import course_lib

JUDGE = ("course_lib.catalog", "course_lib.checking")
PLAIN = frozenset({"course_lib.checking", *(f"course_lib.checking.{name}" for name in ("events", "findings", "literal"))})
"""Modules of the judge that hold values only, and that figures and bundles need."""
FINISHED = ("course_lib.kernels", "course_lib.machine.occupancy")
"""Modules that have done already what exercises ask for. What is traced may use them, an answer to an exercise may not."""
SIMULATOR = tuple(f"course_lib.machine.{name}" for name in ("warp", "trace", "undefined"))
"""What answers use and the judge watches: here for both, and to be left as it is."""

OFF_LIMITS = frozenset(
    "_getframe _current_frames currentframe getouterframes f_back f_locals f_globals tb_frame gi_frame cr_frame ag_frame "
    "get_objects get_referrers get_referents settrace setprofile addaudithook meta_path __globals__ __closure__ "
    "cell_contents __subclasses__ pythonapi py_object _disable_current_modes _get_current_dispatch_mode_stack _pop_mode "
    "_DisableTorchDispatch DisableTorchFunction DisableTorchFunctionSubclass".split()
)
"""Names that an answer has no use for, and that lead to the frames and objects of those who call it, or by its observers."""

USED_MODULES = (builtins, hmac, io, json, json.encoder, np, os, pathlib, torch, torch.overrides, torch.utils._python_dispatch)
USED_CLASSES = (hmac.HMAC, json.JSONEncoder, pathlib.Path, torch.Tensor)
"""What results are noted with and leave the process through. Not Triton's language, which the interpreter itself patches."""


class OffLimits(Exception):
    """The answer reaches for the judge. `lineno` is the line of the answer, if it is known."""

    def __init__(self, message: str, lineno: int | None = None) -> None:
        super().__init__(message)
        self.lineno = lineno


def put_up(answer: pathlib.Path, *, exercise: bool) -> None:
    """Hide the judge from the answer in this file, which must not have been imported yet; for a process that has no other use.

    If it answers an `exercise`, it cannot import what the course has finished either. Raises `OffLimits` if the file names what
    leads to the judge.
    """
    _read_through(answer)
    for name in ("hint", "progress", *(name for name, module in course_lib._LAZY.items() if module.startswith(JUDGE))):
        setattr(course_lib, name, _not_here(name))
    own = [module for name, module in sys.modules.items() if name.startswith(JUDGE)]
    _kept.extend(_namespaces([*own, *(sys.modules[name] for name in SIMULATOR if name in sys.modules)]))
    for module in own:
        del sys.modules[module.__name__]
        vars(course_lib).pop(module.__name__.removeprefix("course_lib."), None)
    if exercise:
        _hide_finished_work()
    sys.meta_path.insert(0, _Refusal(FINISHED if exercise else ()))
    gc.freeze()  # what is there now is on no list of the collector any more


def see_that_all_is_in_place() -> None:
    """Raise `OffLimits` if a function has been replaced through which results are noted or leave the process."""
    for namespace in _kept:
        if (name := namespace.changed()) is not None:
            raise OffLimits(f"`{name}` has been replaced; an answer may not change the libraries that judge it")


# --- the parts ----------------------------------------------------------------------------------------------------


def _read_through(answer: pathlib.Path) -> None:
    try:
        tree = ast.parse(answer.read_bytes())
    except (SyntaxError, ValueError):
        return  # importing it will say so
    for node in ast.walk(tree):
        for name in _names(node):
            if name in OFF_LIMITS:
                line = getattr(node, "lineno", None)
                raise OffLimits(f"`{name}` leads out of the answer; it has to work from its arguments alone", line)


def _hide_finished_work() -> None:
    course_lib.occupancy = _finished
    for name in FINISHED:
        package, _, module = name.rpartition(".")
        if package in sys.modules:
            vars(sys.modules[package]).pop(module, None)
        sys.modules.pop(name, None)


def _finished(*arguments: Any, **keywords: Any) -> NoReturn:
    raise ImportError(f"an answer may not call course_lib.occupancy, {ITS_WORK}")


ITS_WORK = "which has done already what exercises ask for"


def _names(node: ast.AST) -> list[Any]:
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [node.attr]
    if isinstance(node, ast.Constant):
        return [node.value]  # getattr(x, "f_back")
    return [node.name] if isinstance(node, ast.alias) else []


def _not_here(name: str) -> Any:
    def refuse(*arguments: Any, **keywords: Any) -> NoReturn:
        raise RuntimeError(f'this file calls {name}() when it is imported; put the call under `if __name__ == "__main__":`')

    return refuse


@dataclass(frozen=True)
class _Refusal:
    """A finder that lets nobody import the judge any more, and only the course itself what is `finished`."""

    finished: tuple[str, ...]

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name.startswith(JUDGE) and name not in PLAIN:
            raise ImportError(f"an answer may not import {name}, which is part of its judge", name=name)
        if name.startswith(self.finished) and not _importer().startswith(COURSE):
            raise ImportError(f"an answer may not import {name}, {ITS_WORK}", name=name)
        return None


COURSE = str(pathlib.Path(course_lib.__file__).parent)


def _importer() -> str:
    """The file of the module that imports something just now."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and "importlib" in frame.f_code.co_filename:
        frame = frame.f_back
    return frame.f_code.co_filename if frame else ""


@dataclass(frozen=True)
class _Namespace:
    """A module or class as it was: its name, its living content, the functions in it, and what it had inherited besides."""

    name: str
    content: Mapping[str, Any]
    functions: tuple[tuple[str, Any], ...]
    inherited: frozenset[str] = frozenset()

    @classmethod
    def of_module(cls, module: ModuleType) -> _Namespace:
        # Of torch's own namespace, only what is written in C: parts of torch that load late replace some of the rest.
        kind: Any = BuiltinFunctionType if module is torch else object
        functions = ((key, value) for key, value in vars(module).items() if callable(value) and isinstance(value, kind))
        return cls(module.__name__, vars(module), tuple(functions))

    @classmethod
    def of_class(cls, kind: type) -> _Namespace:
        own = vars(kind)
        functions = tuple((key, value) for key, value in own.items() if callable(value))
        return cls(f"{kind.__module__}.{kind.__qualname__}", own, functions, frozenset(dir(kind)) - own.keys())

    def changed(self) -> str | None:
        """The name of something that is no longer what it was."""
        for key, value in self.functions:
            if self.content.get(key) is not value:
                return f"{self.name}.{key}"
        shadowed = self.inherited & self.content.keys()
        return f"{self.name}.{min(shadowed)}" if shadowed else None


_kept: list[_Namespace] = []


def _namespaces(own: list[ModuleType]) -> Iterator[_Namespace]:
    """What judges, as it is now: the checker's modules, Triton's interpreter, and what of Python and torch they use."""
    judges = [*own, *(sys.modules[name] for name in ("triton.runtime.interpreter",) if name in sys.modules)]
    classes = (value for module in judges for value in vars(module).values() if isinstance(value, type))
    own_names = {module.__name__ for module in judges}
    yield from map(_Namespace.of_module, [*judges, *USED_MODULES])
    yield from map(_Namespace.of_class, {kind for kind in classes if kind.__module__ in own_names} | {*USED_CLASSES})
