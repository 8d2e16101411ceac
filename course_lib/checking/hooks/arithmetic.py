"""Reductions, and arithmetic that the interpreter does otherwise than a GPU: mended, noted, or refused."""

from __future__ import annotations

import dis
import functools
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
    _patch_min_max()
    _patch_reductions()


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
    """Let a custom `tl.reduce` (and what is made of one, such as `tl.flip`) combine whole slices, not single elements.

    A combining function is elementwise, so the result is the same, and hundreds of times faster. One that branches keeps to
    single elements: an `if` on a tile would take one way for all of them.
    """
    one_by_one = interp.ReduceOps.generic_reduce

    @functools.wraps(one_by_one)
    def by_slices(self: Any, tiles: Any) -> Any:
        jumps = (step.opname for step in dis.get_instructions(self.combine_fn.fn))
        if self.axis is None or any("JUMP" in name for name in jumps):
            return one_by_one(self, tiles)
        truth = interp.tl.tensor.__bool__
        interp.tl.tensor.__bool__ = _one_truth
        try:
            return _combine_slices(self, tiles)
        except _NotByTile:
            pass
        finally:
            interp.tl.tensor.__bool__ = truth
        return one_by_one(self, tiles)

    interp.ReduceOps.generic_reduce = by_slices


class _NotByTile(Exception):
    """A combining function does not work on whole slices."""


def _one_truth(tile: Any) -> bool:
    """The truth of a single value; a helper that branches on a slice has no one way to go."""
    if tile.handle.data.size != 1:
        raise _NotByTile
    return bool(tile.handle.data)


def _combine_slices(reduction: Any, tiles: Any) -> Any:
    axis = reduction.axis

    def slices(place: int) -> list[Any]:
        return [reduction.to_tensor(np.take(tile.handle.data, place, axis), tile.dtype) for tile in tiles]

    so_far = slices(0)
    for place in range(1, tiles[0].handle.data.shape[axis]):
        try:
            combined = reduction.combine_fn.fn(*so_far, *slices(place))
        except Exception as error:
            raise (_NotByTile() if isinstance(_innermost(error), _NotByTile) else error) from error
        combined = combined if isinstance(combined, tuple) else (combined,)
        if not all(isinstance(value, interp.tl.tensor) for value in combined):
            raise _NotByTile
        so_far = [reduction.to_tensor(_data(value), tile.dtype) for value, tile in zip(combined, tiles, strict=True)]
    if reduction.keep_dims:
        return [reduction.to_tensor(np.expand_dims(_data(value), axis), value.dtype) for value in so_far]
    return so_far


def _innermost(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _data(value: Any) -> Any:
    """A tensor's values: an array of its shape, or a NumPy scalar."""
    data = value.handle.data
    return data if value.type.is_block() else data.reshape(-1)[0]
