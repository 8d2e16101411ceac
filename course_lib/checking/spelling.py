"""Lets kernels call Triton's language by whatever names the compiler knows it.

Triton's interpreter replaces the attributes of `triton.language` while a kernel runs, and takes the arguments annotated
`tl.constexpr` for constants. So it does not know `from triton.language import load`, nor `BLOCK: T.constexpr` after
`import triton.language as T`. The compiler knows both.

Runs inside the worker's process, before the answer is imported. What kernels do is observed elsewhere (`hooks.py`).
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import triton.runtime.interpreter as interp

from course_lib.checking.hooks import CannotInterpret

ONLY_ON_A_GPU = ("triton.language.extra.libdevice", "triton.language.extra.cuda.libdevice")
"""Modules whose functions are calls of NVIDIA's library of device functions. In the interpreter they return nothing."""


def install() -> None:
    """Replace the attributes of `triton.language` for good, so that names imported from it mean the interpreter's functions."""
    interp._patch_lang(SimpleNamespace(__globals__={"tl": interp.tl, "core": interp.tl.core}))
    begin = interp.GridExecutor.__init__
    if hasattr(begin, "__wrapped__"):
        return

    @functools.wraps(begin)
    def begin_with_constants(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        # As in triton.runtime.jit.KernelParam. The kernel was compiled anew, which has made strings of its annotations.
        self.constexprs = [name for name, kind in self.fn.__annotations__.items() if "constexpr" in str(kind)]

    interp.GridExecutor.__init__ = begin_with_constants
    for module in map(importlib.import_module, ONLY_ON_A_GPU):
        for name, function in inspect.getmembers(module, inspect.isroutine):
            if function.__module__ == module.__name__:
                setattr(module, name, _refusing(name))


def _refusing(name: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise CannotInterpret(f"Triton's interpreter has no libdevice, of which the kernel calls `{name}`")

    return refuse
