"""Launches: their arguments, their grids, the order of their programs, and what autotuning chooses."""

from __future__ import annotations

import functools
import inspect
from typing import Any, ClassVar

import numpy as np
import torch
import triton.runtime.autotuner as autotuner
import triton.runtime.interpreter as interp

from course_lib.checking.hooks.model import LaunchState, Place, state
from course_lib.checking.hooks.pointers import VIEWS
from course_lib.checking.hooks.syntax import forget_names
from course_lib.checking.inside import call_once
from course_lib.errors import rendered

GRID_LIMITS = (2**31 - 1, 65535, 65535)
"""Most programs along each axis. Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"."""


def patch() -> None:
    """Tell the observer of every launch and program, and note which tensor each pointer argument comes from."""
    _patch_launch()
    _patch_arguments()
    _patch_programs()
    _patch_tuning()


class _Arguments:
    """Which argument of the launch is being converted: the interpreter converts them in order, tuples from within."""

    names: ClassVar[list[str]] = []
    name: ClassVar[str] = "?"
    depth: ClassVar[int] = 0


def _patch_launch() -> None:
    executor = interp.GridExecutor
    original = executor.__call__

    @functools.wraps(original)
    def launched(self: Any, *args: Any, **kwargs: Any) -> None:
        if state.observer is None:
            original(self, *args, **kwargs)
            return
        self.constexprs = [name for name in self.arg_names if _is_constexpr(self.fn.__annotations__.get(name))]
        bound = _bind(self.fn, args, kwargs)
        launch = LaunchState(self.fn.__name__, (0, 0, 0), _plain_arguments(bound))
        self.grid = _checked_grid(self.grid, launch, bound)
        _Arguments.names, _Arguments.depth = [name for name in bound if name not in self.constexprs], 0
        state.launch = launch
        forget_names()
        try:
            original(self, *args, **kwargs)
        finally:
            state.launch = None
            forget_names()
        state.observer.launch_ends(launch)

    call = interp.InterpretedFunction.__call__

    @functools.wraps(call)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        if state.observer is not None and state.launch is None:
            name = self.fn.__name__
            if self.fn.__module__.startswith("triton.language"):
                raise _plain(
                    TypeError(f"`tl.{name}` was called outside a kernel; {_INSTEAD.get(name, 'in Python, use torch')}")
                )
            raise _plain(
                TypeError(f"`{name}` was called without a grid, as if it were a Python function; write `{name}[grid](…)`")
            )
        return call(self, *args, **kwargs)

    executor.__call__ = launched
    interp.InterpretedFunction.__call__ = called
    for name in ("_init_args_hst", "_restore_args_dev"):
        setattr(executor, name, _copying(getattr(executor, name)))


_INSTEAD = {"cdiv": "in Python, write `triton.cdiv(…)`"}


def _copying(method: Any) -> Any:
    @functools.wraps(method)
    def copying(self: Any, *args: Any) -> Any:
        state.copying = True
        try:
            return method(self, *args)
        finally:
            state.copying = False

    return copying


def _is_constexpr(annotation: Any) -> bool:
    """As the compiler decides it: by the annotation's text, however the module was imported."""
    return "constexpr" in (annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation)))


def _bind(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    spec = inspect.getfullargspec(fn)
    names = spec.args + spec.kwonlyargs  # a kernel may have the latter from Triton 3.9 on
    try:
        return inspect.getcallargs(fn, *args, **{k: v for k, v in kwargs.items() if k in names})
    except TypeError as error:
        raise _plain(error) from None


def _plain(error: Exception) -> Exception:
    """An error that a notebook shows without the frames of Triton and of this course."""
    error._render_traceback_ = functools.partial(rendered, error)  # type: ignore[attr-defined]
    return error


def _plain_arguments(bound: dict[str, Any]) -> dict[str, Any]:
    plain = {name: getattr(value, "value", value) for name, value in bound.items()}
    return {name: value for name, value in plain.items() if isinstance(value, (bool, int, float, str))}


def _checked_grid(grid: Any, launch: LaunchState, bound: dict[str, Any]) -> Any:
    """The grid as the compiled launcher takes it: lists too, and only within the hardware's limits.

    A function is given the arguments as they were passed (`bound`), as by a compiled launch, not the interpreter's own.
    """

    def resolved(arguments: dict[str, Any]) -> tuple[Any, ...]:
        sizes = grid(dict(bound)) if callable(grid) else grid
        if isinstance(sizes, list):
            sizes = tuple(sizes)
        if not isinstance(sizes, tuple) or not 1 <= len(sizes) <= 3:
            raise _plain(TypeError(f"the grid must be a tuple of 1 to 3 numbers of programs, for example (4,), not {sizes!r}"))
        for axis, (size, limit) in enumerate(zip(sizes, GRID_LIMITS, strict=False)):
            if not hasattr(size, "__index__"):
                whole = "it must be a whole number, as `triton.cdiv` gives"
                raise _plain(TypeError(f"the grid asks for {size!r} programs along axis {axis}; {whole}"))
            if size < 0:
                raise _plain(ValueError(f"the grid asks for {size} programs along axis {axis}; it must be 0 or more"))
            if size > limit:
                raise _plain(
                    ValueError(f"the grid asks for {size} programs along axis {axis}; a GPU takes at most {limit} there")
                )
        launch.grid = (*sizes, *(1,) * (3 - len(sizes)))
        assert state.observer is not None
        state.observer.launch_begins(launch)
        return sizes

    return resolved


def _patch_arguments() -> None:
    convert = interp._implicit_cvt

    def converted(argument: Any) -> Any:
        launch, observer = state.launch, state.observer
        if launch is None or observer is None:
            return convert(argument)
        if _Arguments.depth == 0:
            _Arguments.name = _Arguments.names.pop(0) if _Arguments.names else "?"
        _Arguments.depth += 1
        try:
            result = convert(argument)
        finally:
            _Arguments.depth -= 1
        if isinstance(result, float):  # the interpreter leaves it a number of Python's
            return interp.tl.tensor(interp.TensorHandle(np.array([result], np.float32), interp.tl.float32), interp.tl.float32)
        tensor = getattr(argument, "base", argument)
        if isinstance(tensor, torch.Tensor) and isinstance(getattr(result, "handle", None), interp.TensorHandle):
            result.handle.attr[VIEWS] = (len(launch.tensors),)
            launch.tensors.append((_Arguments.name, tensor))
            launch.places.append(Place.of(tensor, observer.bounds(tensor)))
        return result

    interp._implicit_cvt = converted


def _patch_programs() -> None:
    set_index = interp.InterpreterBuilder.set_grid_idx

    @functools.wraps(set_index)
    def indexed(self: Any, x: int, y: int, z: int) -> None:
        program = (x, y, z)
        if state.observer is not None and state.launch is not None:
            program = state.observer.order(state.launch.grid, program)
            state.observer.program_begins(state.launch, program)
        set_index(self, *program)

    interp.InterpreterBuilder.set_grid_idx = indexed


def _let_through(tuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the configuration that was chosen in an earlier call is one that pruning leaves in this one."""
    tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
    try:
        return tuner.best_config in tuner.prune_configs(kwargs)
    finally:
        tuner.nargs = None


def _patch_tuning() -> None:
    """Let `@triton.autotune` take the configuration that the observer asks for: there is nothing here to measure.

    It keeps to that for further calls with the same `key`, as on a GPU: also where pruning would not let it through any more.
    Whichever configurations are asked for, each has choices of its own to keep, so that none hides another one.
    """
    tuner = autotuner.Autotuner
    run, bench = tuner.run, tuner._bench

    @functools.wraps(run)
    def tuned(self: Any, *args: Any, **kwargs: Any) -> Any:
        if state.observer is not None:
            number = state.observer.tuning(len(self.configs))
            self._course_choice = self.configs[number]
            kept = self.__dict__.setdefault("_course_kept", {})
            self.cache = {} if state.observer.measures() else kept.setdefault(number, {})
            choices = len(self.cache)
            result = run(self, *args, **kwargs)
            if len(self.configs) > 1 and len(self.cache) == choices and not _let_through(self, args, kwargs):
                state.observer.outdated(self.base_fn.__name__, self.best_config.kwargs)
            return result
        return run(self, *args, **kwargs)

    @functools.wraps(bench)
    def benched(self: Any, *args: Any, config: Any, **meta: Any) -> list[float]:
        chosen = config is getattr(self, "_course_choice", None)
        if chosen and state.observer is not None and state.observer.measures():
            self._do_bench = call_once  # on a GPU, many times; whatever they leave behind is there before the call that counts
            state.tuning = True
            try:
                bench(self, *args, config=config, **meta)
            finally:
                state.tuning = False
        return [float(not chosen)] * 3

    tuner.run, tuner._bench = tuned, benched
