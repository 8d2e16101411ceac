"""Promises that a kernel makes to the compiler: `tl.multiple_of`, `tl.max_contiguous`, `tl.max_constancy`, `tl.assume`.

The interpreter takes no notice of them. A compiler relies on them: it may load several elements at once, or let one lane's mask
count for its neighbours. So a single value that is not as promised is told to the observer at once. Of a tile, only lanes that
are used matter: those that are not as promised are followed to the pointers that are made of them. A store there is told, and a
load gets what no answer may rely on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.runtime.interpreter as interp

from course_lib.checking.hooks.frames import answer_frame
from course_lib.checking.hooks.model import BoolArray, Promise, state
from course_lib.checking.hooks.pointers import VIEWS

BROKEN = "course.broken"
"""Key in `TensorHandle.attr`: which lanes are not as promised, or are made of such."""
WIDEST = 16
"""The bytes of the widest load that a compiler makes of a pointer's alignment: what is promised beyond does not matter."""

ELEMENTWISE = "binary_op unary_op ternary_op cast_impl create_addptr create_select create_bitcast create_int_to_ptr".split()
RESHAPING = "create_broadcast create_splat create_expand_dims create_reshape create_trans".split()


def patch() -> None:
    """Compare every promise with the values, and follow the lanes for which one does not hold."""
    builder = interp.InterpreterBuilder
    patch_core = interp._patch_lang_core

    @functools.wraps(patch_core)
    def patched(language: Any, scope: Any) -> None:
        patch_core(language, scope)
        for name, fault in FAULTS.items():
            scope.set_attr(language, name, _compared(getattr(language, name), name, fault))

    interp._patch_lang_core = patched
    builder.create_assume = _assumed
    for name in ELEMENTWISE:
        setattr(builder, name, _following(getattr(builder, name), _any_of))
    for name in RESHAPING:
        setattr(builder, name, _following(getattr(builder, name), _reshaped))


def broken_lanes(pointers: Any, active: BoolArray) -> BoolArray | None:
    """Which active lanes of a tile of pointers are not as promised; None if all are."""
    lanes = pointers.attr.get(BROKEN)
    used = None if lanes is None else lanes & active
    return used if used is not None and used.any() else None


# --- comparing ----------------------------------------------------------------------------------------------------


def _compared(give: Callable[..., Any], name: str, fault: Callable[[np.ndarray, int, int], BoolArray]) -> Callable[..., Any]:
    def compared(input: Any, values: Any) -> Any:
        given = give(input, values)
        if state.observer is None or state.launch is None or not isinstance(input, interp.tl.tensor):
            return given
        listed = values if isinstance(values, (list, tuple)) else [values]
        numbers: list[Any] = [getattr(number, "value", number) for number in listed]
        data, step = _data_of(input)
        broken = np.zeros(data.shape, dtype=np.bool_)
        for axis, number in enumerate(numbers):
            along = np.moveaxis(broken, axis, -1)
            along |= fault(np.moveaxis(data, axis, -1), min(number, WIDEST) if step > 1 else number, step)
        if broken.any():
            _note(f"`tl.{name}(…, {numbers[0] if len(numbers) == 1 else numbers})`", data, broken, input.handle)
        return given

    return compared


def _data_of(value: Any) -> tuple[np.ndarray, int]:
    """A tensor's values, and how far neighbours are apart.

    Pointers are counted in bytes from where their tensors' memory begins, which on a GPU is a multiple of 256.
    """
    data = value.handle.data.astype(np.int64)
    if not value.dtype.is_ptr():
        return data, 1
    views = value.handle.attr.get(VIEWS, ())
    assert state.launch is not None
    if views:
        data = data - state.launch.tensors[views[0]][1].untyped_storage().data_ptr()
    return data, max(1, value.dtype.element_ty.primitive_bitwidth // 8)


def _not_multiples(data: np.ndarray, number: int, step: int) -> BoolArray:
    """Lanes of runs that begin with no multiple: of neighbouring values the compiler takes the first one to be meant."""
    begins = np.ones(data.shape, dtype=np.bool_)
    begins[..., 1:] = np.diff(data) != step
    first = np.maximum.accumulate(np.where(begins, np.arange(data.shape[-1]), 0), axis=-1)
    return np.asarray(np.take_along_axis(data, first, axis=-1) % number != 0)


def _not_contiguous(data: np.ndarray, number: int, step: int) -> BoolArray:
    lane = np.arange(data.shape[-1])
    return np.asarray(data != data[..., lane // number * number] + lane % number * step)


def _not_constant(data: np.ndarray, number: int, step: int) -> BoolArray:
    return np.asarray(data != data[..., np.arange(data.shape[-1]) // number * number])


FAULTS = {"multiple_of": _not_multiples, "max_contiguous": _not_contiguous, "max_constancy": _not_constant}


def _note(promise: str, data: np.ndarray, broken: BoolArray, handle: Any) -> None:
    assert state.observer is not None and state.launch is not None
    lane = tuple(map(int, np.argwhere(broken)[0]))
    if data.size == 1:
        told = Promise(f"{promise} does not hold: the value is {data[lane]}", answer_frame().f_lineno)
        state.observer.broken_promise(told, certain=True)
        return
    shown = lane[0] if len(lane) == 1 else lane
    said = Promise(f"{promise} does not hold: lane {shown} has the value {data[lane]}", answer_frame().f_lineno)
    state.launch.promise = state.launch.promise or said
    handle.attr[BROKEN] = broken


def _assumed(self: Any, condition: Any) -> None:
    if state.observer is not None and state.launch is not None and not np.all(condition.data):
        state.observer.broken_promise(Promise("`tl.assume` does not hold", answer_frame().f_lineno), certain=True)


# --- following ----------------------------------------------------------------------------------------------------


def _following(method: Any, follow: Callable[..., Any]) -> Any:
    @functools.wraps(method)
    def followed(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = method(self, *args, **kwargs)
        if state.launch is not None and state.launch.promise is not None and isinstance(result, interp.TensorHandle):
            lanes = follow(lambda *others: method(self, *others, **kwargs), args, result)
            if lanes is not None:
                result.attr[BROKEN] = lanes
        return result

    return followed


def _any_of(method: Callable[..., Any], args: tuple[Any, ...], result: Any) -> BoolArray | None:
    found = [arg.attr[BROKEN] for arg in args if isinstance(arg, interp.TensorHandle) and BROKEN in arg.attr]
    return np.logical_or.reduce(np.broadcast_arrays(*found, np.zeros(result.data.shape, dtype=np.bool_))) if found else None


def _reshaped(method: Callable[..., Any], args: tuple[Any, ...], result: Any) -> BoolArray | None:
    if not any(isinstance(arg, interp.TensorHandle) and BROKEN in arg.attr for arg in args):
        return None
    return np.asarray(method(*(_lanes(arg) if isinstance(arg, interp.TensorHandle) else arg for arg in args)).data)


def _lanes(handle: Any) -> Any:
    return interp.TensorHandle(handle.attr[BROKEN], interp.tl.int1)
