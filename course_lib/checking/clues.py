"""What an error knows beyond its message: the nearest names, and how a function of Triton's language is called.

Runs inside the worker's process, where these objects are. What it finds leaves as plain data, for `explain.py`.
"""

from __future__ import annotations

import difflib
import inspect
import os
import re
import sys
import traceback
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import torch
import triton.language as tl

from course_lib.checking import literal
from course_lib.checking.inside import ANSWER_FILE

LANGUAGE = os.path.dirname(tl.__file__)
MOST_PARAMETERS = 4


def clues(chain: Sequence[BaseException]) -> dict[str, Any]:
    """Facts about an error, by name; those that are not known are left out. `chain` ends with it, after those that wrap it.

    "module", "name", "near": a name that a module, or a tensor, does not have, and its nearest ones. "language": a name that is
    not defined is one of Triton's language. "called", "signature", "parameters": the function of Triton's language that the
    answer called.
    """
    error = chain[-1]
    found: dict[str, Any] = {}
    if isinstance(error, AttributeError) and isinstance(error.obj, (ModuleType, torch.Tensor)):
        public = [name for name in dir(type(error.obj) if isinstance(error.obj, torch.Tensor) else error.obj) if name[0] != "_"]
        module = error.obj.__name__ if isinstance(error.obj, ModuleType) else "a tensor"
        found = {"module": module, "name": error.name, "near": _near(str(error.name), public)}
    elif isinstance(error, ModuleNotFoundError) and error.name:
        found = {"name": error.name, "near": _near(error.name, ["torch", "triton", "numpy", *sys.stdlib_module_names])}
    elif isinstance(error, NameError):
        found = {"name": error.name, "language": hasattr(tl, str(error.name))}
    if (name := _function_of_the_language(chain)) is not None:
        names = list(_parameters(name))
        found |= {"called": name, "signature": _signature(name), "parameters": names}
    return found


def _near(name: str, names: list[str]) -> list[str]:
    by_letters = {other.lower().replace("_", ""): other for other in reversed(names)}
    near = difflib.get_close_matches(name.lower().replace("_", ""), by_letters, n=2, cutoff=0.7)
    return [by_letters[letters] for letters in near]


def _function_of_the_language(chain: Sequence[BaseException]) -> str | None:
    """The function of Triton's language in which an error was raised, or that was called in a wrong way."""
    error = chain[-1]
    called = re.match(r"(?:\w+\.)*(\w+)\(\) ", str(error))
    if isinstance(error, TypeError) and called and callable(getattr(tl, called[1], None)):
        return called[1]
    frames = [frame for link in chain for frame in traceback.extract_tb(link.__traceback__)]
    own = [number for number, frame in enumerate(frames) if os.path.basename(frame.filename) == ANSWER_FILE]
    inner = frames[own[-1] + 1 :] if own else []
    names = (frame.name for frame in inner if frame.filename.startswith(LANGUAGE))
    return next((name for name in names if not name.startswith("_") and callable(getattr(tl, name, None))), None)


def _parameters(name: str) -> dict[str, inspect.Parameter]:
    function = literal.original(getattr(tl, name))
    while hasattr(function, "fn"):  # written in Triton itself
        function = function.fn
    return {key: one for key, one in inspect.signature(function).parameters.items() if not key.startswith("_")}


def _signature(name: str) -> str:
    """How a function is called: ``tl.load(pointer, mask=None, other=None, boundary_check=(), …)``."""
    parameters = list(_parameters(name).values())
    shown = [one.name if one.default is one.empty else f"{one.name}={one.default!r}" for one in parameters]
    more = ["…"] if len(shown) > MOST_PARAMETERS else []
    return f"tl.{name}({', '.join(shown[:MOST_PARAMETERS] + more)})"
