"""Hooks into Triton's interpreter: every load, store and atomic passes through here before it touches memory.

`install(observer)` patches the interpreter of this process once; from then on each pointer knows which kernel argument
it came from, and an active lane whose address lies outside that argument is reported to the observer and *not*
carried out. Two observers use this: the worker's recorder (`recorder.py`), which notes everything, and the guard
(`guard.py`), which turns the first stray access in a notebook into a Python error instead of a dead process.

    model.py       what observers are told: launches, places in memory, accesses
    launches.py    arguments, grids, the order of programs, autotuning
    pointers.py    which tensor a pointer points into
    promises.py    what a kernel tells the compiler, compared with the values
    memory.py      loads, stores, atomics, barriers
    arithmetic.py  reductions, and what the interpreter computes otherwise than a GPU does
    frames.py      which line of a kernel is being run
    syntax.py      what a kernel's Python means: `and`, `or`, `not`, names imported from `triton.language`
    speed.py       what the interpreter does in vain

Not here: judging (`checking/memory.py`) and running (`worker.py`). These modules import Triton, so only import them where
the interpreter is wanted. What differs between Triton's versions is handled in this folder.
"""

from __future__ import annotations

import triton.runtime.interpreter as interp

from course_lib.checking.hooks import arithmetic, launches, memory, pointers, promises, speed, syntax
from course_lib.checking.hooks.guard import Guard
from course_lib.checking.hooks.model import Access, CannotInterpret, LaunchState, Observer, Place, StrayAccess, state
from course_lib.errors import rendered

__all__ = ["Access", "CannotInterpret", "Guard", "LaunchState", "Observer", "Place", "StrayAccess", "install", "install_guard"]


def install(observer: Observer | None) -> None:
    """Patch the interpreter of this process (once) and report to `observer` from now on."""
    state.observer = observer
    if getattr(interp.GridExecutor, "_course_hooked", False):
        return
    for module in (syntax, speed, arithmetic, launches, pointers, promises, memory):
        module.patch()
    interp.GridExecutor._course_hooked = True


def install_guard() -> None:
    """Make kernels that are run in this process raise `StrayAccess` instead of reading or writing foreign memory."""
    if state.observer is None:
        install(Guard())
        interp.InterpreterError._render_traceback_ = rendered  # a notebook shows no frames of Triton
