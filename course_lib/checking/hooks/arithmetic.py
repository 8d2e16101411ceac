"""Reductions, and arithmetic that the interpreter does otherwise than a GPU: mended, noted, or refused."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.runtime.interpreter as interp

from course_lib.checking.hooks.model import CannotInterpret, state

NAN_IN_MAX = "NaN met tl.max or tl.min"


def patch() -> None:
    """Stop at arithmetic on formats that the interpreter keeps as raw bits, and note NaN under `max` and `min`."""
    builder = interp.InterpreterBuilder
    for name in ("binary_op", "unary_op", "ternary_op", "create_fma", "create_dot"):
        setattr(builder, name, _refusing_raw_bits(getattr(builder, name)))
    if not hasattr(builder, "get_bf16"):
        builder.get_bf16 = _no_bf16_constant
    _patch_dot(builder)
    builder.create_reshape, builder.create_cat = _reshaping(builder.create_reshape), _reordering(builder.create_cat)
    _patch_extremes(builder)
    _patch_min_max()
    _patch_reductions()
    _refuse_libdevice()


def _refusing_raw_bits(method: Any) -> Any:
    @functools.wraps(method)
    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        for argument in args[:3]:
            scalar = getattr(getattr(argument, "dtype", None), "scalar", None)
            if scalar is not None and (scalar.is_bf16() or scalar.is_fp8()):
                raise _raw_bits(scalar)
        return method(self, *args, **kwargs)

    return refuse


def _raw_bits(kind: Any) -> CannotInterpret:
    return CannotInterpret(
        f"Triton's interpreter keeps {kind} as raw bits and cannot compute with it; "
        "convert with `.to(tl.float32)` before computing, as a kernel should for accuracy too"
    )


def _no_bf16_constant(self: Any, value: float) -> Any:
    raise _raw_bits("bf16")


def _patch_dot(builder: Any) -> None:
    """Round fp32 factors to tf32 where `tl.dot` does: on every GPU since sm_80, unless told "ieee" or "tf32x3"."""
    dot = builder.create_dot

    @functools.wraps(dot)
    def rounded(self: Any, a: Any, b: Any, d: Any, input_precision: Any, *args: Any) -> Any:
        if str(input_precision).rpartition(".")[2] == "TF32":
            a, b = (_in_tf32(factor) for factor in (a, b))
        return dot(self, a, b, d, input_precision, *args)

    builder.create_dot = rounded


def _in_tf32(factor: Any) -> Any:
    """The values with 10 binary digits after the point, the others cut off."""
    if factor.data.dtype != np.float32:
        return factor
    return interp.TensorHandle((factor.data.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32), factor.dtype)


def _reshaping(reshape: Any) -> Any:
    """What `tl.view` and `can_reorder=True` leave to the compiler: in which order the elements come."""
    any_order = _reordering(reshape)

    @functools.wraps(reshape)
    def reshaped(self: Any, tile: Any, shape: Any, allow_reorder: Any) -> Any:
        return (any_order if allow_reorder else reshape)(self, tile, shape, allow_reorder)

    return reshaped


def _reordering(method: Any) -> Any:
    """Let this method turn its elements round, where the observer asks for another order."""

    @functools.wraps(method)
    def reordered(self: Any, *args: Any) -> Any:
        made = method(self, *args)
        if state.observer is None or state.launch is None or not state.observer.reorders():
            return made
        return interp.TensorHandle(made.data.reshape(-1)[::-1].reshape(made.data.shape), made.dtype)

    return reordered


def _patch_extremes(builder: Any) -> None:
    """`tl.maximum`, `tl.minimum` and `tl.clamp` drop a NaN, unless told to propagate it, as `max.f32` of PTX does."""
    builder.create_maxnumf = lambda self, a, b: self.binary_op(a, b, np.fmax)
    builder.create_minnumf = lambda self, a, b: self.binary_op(a, b, np.fmin)
    clampf = builder.create_clampf

    @functools.wraps(clampf)
    def clamped(self: Any, x: Any, low: Any, high: Any, propagate_nan: Any) -> Any:
        if str(propagate_nan).rpartition(".")[2] == "ALL":
            return clampf(self, x, low, high, propagate_nan)
        return self.create_minnumf(self.create_maxnumf(x, low), high)

    builder.create_clampf = clamped


ONLY_ON_A_GPU = ("triton.language.extra.libdevice", "triton.language.extra.cuda.libdevice")
"""Modules whose functions are calls of NVIDIA's library of device functions. In the interpreter they return nothing."""


def _refuse_libdevice() -> None:
    for module in map(importlib.import_module, ONLY_ON_A_GPU):
        for name, function in inspect.getmembers(module, inspect.isroutine):
            if function.__module__ == module.__name__:
                setattr(module, name, _refusing_call(name))


def _refusing_call(name: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise CannotInterpret(f"Triton's interpreter has no libdevice, of which the kernel calls `{name}`")

    return refuse


def _patch_min_max() -> None:
    min_max = interp.ReduceOps.min_max

    @functools.wraps(min_max)
    def noted(self: Any, input: Any, val_reduce_op: Any, idx_reduce_op: Any = None) -> Any:
        data = (input[0] if isinstance(input, tuple) else input).handle.data
        if state.observer is not None and data.dtype.kind == "f" and np.isnan(data).any():
            state.observer.note(NAN_IN_MAX)  # np.nanmax skips it; torch's and IEEE's maximum would not
        try:
            return min_max(self, input, val_reduce_op, idx_reduce_op)
        except ValueError as error:
            if "All-NaN" in str(error):
                raise CannotInterpret("every lane of a tile is NaN, and Triton's interpreter finds no place there") from error
            raise

    interp.ReduceOps.min_max = noted


def _patch_reductions() -> None:
    """Let a custom `tl.reduce` or `tl.associative_scan` (and what is made of one, such as `tl.flip`) combine halves of a tile.

    That is hundreds of times faster than from left to right, one element at a time, and closer to a GPU, whose threads exchange
    values in the same pattern: a combining function that is not associative gives another result there.
    """
    interp.ReduceOps.generic_reduce = _reduce
    interp.ScanOps.generic_scan = _scan


def _reduce(self: Any, tiles: Any) -> Any:
    """Combine the first half of a tile with the second, until one value is left: not in order, so it must not matter."""
    so_far, axis = self.unravel(tiles, self.axis)
    while (length := so_far[0].handle.data.shape[axis]) > 1:
        halves = [np.split(tile.handle.data, [length // 2], axis) for tile in so_far]
        combined = _combined(self, tiles, [low for low, _ in halves], [high for _, high in halves])
        so_far = [self.to_tensor(data, tile.dtype) for data, tile in zip(combined, tiles, strict=True)]
    if self.keep_dims:
        rank = tiles[0].handle.data.ndim
        return (
            [self.to_tensor(tile.handle.data.reshape([1] * rank), tile.dtype) for tile in so_far]
            if self.axis is None
            else so_far
        )
    return [self.to_tensor(_scalar(np.squeeze(tile.handle.data, axis)), tile.dtype) for tile in so_far]


def _scan(self: Any, tiles: Any) -> Any:
    """Combine the last value of each run with all of the run after it, for runs of 1, 2, 4, … lanes. The order is kept."""
    so_far = [np.moveaxis(tile.handle.data, self.axis, -1) for tile in tiles]
    shape, run = so_far[0].shape, 1
    while run < shape[-1]:
        runs = [data.reshape(-1, 2, run) for data in so_far]
        later = [data[:, 1].reshape(-1) for data in runs]
        combined = _combined(self, tiles, [np.repeat(data[:, 0, -1], run) for data in runs], later)
        so_far = [np.stack([data[:, 0], new.reshape(-1, run)], axis=1) for data, new in zip(runs, combined, strict=True)]
        run *= 2
    moved = (np.moveaxis(data.reshape(shape), -1, self.axis) for data in so_far)
    return [self.to_tensor(data, tile.dtype) for data, tile in zip(moved, tiles, strict=True)]


def _combined(operation: Any, tiles: Any, low: list[np.ndarray], high: list[np.ndarray]) -> list[np.ndarray]:
    """What a combining function makes of slices of tiles, each one's low and high elements.

    One that branches on values is given single elements: an `if` on a slice would take one way for all of them.
    """

    def combine(index: Any) -> list[np.ndarray]:
        parts = [(data[index], tile.dtype) for part in (low, high) for data, tile in zip(part, tiles, strict=True)]
        made = operation.combine_fn.fn(*(operation.to_tensor(data, dtype) for data, dtype in parts))
        values = made if isinstance(made, tuple) else (made,)
        return [value.handle.data if isinstance(value, interp.tl.tensor) else np.asarray(value) for value in values]

    truth = interp.tl.tensor.__bool__
    interp.tl.tensor.__bool__ = _one_truth
    try:
        return [np.broadcast_to(value, low[0].shape) for value in combine(...)]
    except Exception as error:
        if not isinstance(_innermost(error), _NotByTile):
            raise
    finally:
        interp.tl.tensor.__bool__ = truth
    results = [np.empty_like(data) for data in low]
    for index in np.ndindex(low[0].shape):
        for result, value in zip(results, combine(index), strict=True):
            result[index] = value.item()
    return results


class _NotByTile(Exception):
    """A combining function does not work on whole slices."""


def _one_truth(tile: Any) -> bool:
    """The truth of a single value; a helper that branches on a slice has no one way to go."""
    if tile.handle.data.size != 1:
        raise _NotByTile
    return bool(tile.handle.data)


def _innermost(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _scalar(data: np.ndarray) -> Any:
    """An array as it is, or a NumPy scalar if it has no axes."""
    return data if data.ndim else data[()]
