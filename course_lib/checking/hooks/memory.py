"""Loads, stores, atomics and barriers: each is located, told to the observer, and carried out only where it is allowed."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import triton.runtime.interpreter as interp

from course_lib.checking.events import Update
from course_lib.checking.hooks.frames import answer_frame
from course_lib.checking.hooks.model import Access, BoolArray, LaunchState, Observer, state
from course_lib.checking.hooks.pointers import VIEWS
from course_lib.checking.hooks.promises import broken_lanes


class _Current:
    """What the semantic layer knows and the builder below it does not."""

    other_given = False
    atomic = False


def patch() -> None:
    """Route every access through the observer."""
    builder = interp.InterpreterBuilder
    _patch_loads(builder)
    _patch_stores(builder)
    _patch_atomics(builder)
    _patch_barriers(builder)


def _patch_loads(builder: Any) -> None:
    semantic_load, load = interp.TritonSemantic.load, builder.create_masked_load

    @functools.wraps(semantic_load)
    def remembered(self: Any, ptr: Any, mask: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        # A zero `other` of one element is dropped on the way to the builder; a compiled kernel keeps it.
        _Current.other_given = other is not None
        try:
            return semantic_load(self, ptr, mask, other, *args, **kwargs)
        finally:
            _Current.other_given = False

    @functools.wraps(load)
    def hooked(self: Any, ptrs: Any, mask: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        observer, launch = state.observer, state.launch
        if observer is None or launch is None:
            return load(self, ptrs, mask, other, *args, **kwargs)
        active = _mask_of(ptrs, mask)
        given = other is not None or _Current.other_given
        kind = "atomic" if _Current.atomic else "load"
        inside = _observe(observer, launch, kind, ptrs, active, given, self.grid_idx)
        dtype = interp._get_np_dtype(ptrs.get_element_ty())
        if other is not None:
            fill = np.array(np.broadcast_to(other.data, ptrs.data.shape), dtype=dtype)
        else:
            fill = np.full(ptrs.data.shape, 0 if given else observer.poison(dtype), dtype=dtype)
        fill[active & ~inside] = observer.poison(dtype)
        value = interp._interpreter.load(ptrs.data, active & inside, fill, dtype)
        if (broken := broken_lanes(ptrs, active)) is not None:
            assert launch.promise is not None
            observer.broken_promise(launch.promise, certain=kind == "atomic")
            value[broken] = observer.poison(dtype)
        return interp.TensorHandle(value, ptrs.get_element_ty())

    interp.TritonSemantic.load = remembered
    builder.create_masked_load = hooked


def _patch_stores(builder: Any) -> None:
    semantic_store, store = interp.TritonSemantic.store, builder.create_masked_store

    @functools.wraps(semantic_store)
    def of_values(self: Any, ptr: Any, val: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(getattr(val, "dtype", None), "is_ptr", bool)() and ptr.dtype.is_ptr() and ptr.dtype.element_ty.is_floating():
            raise TypeError("a pointer was given as the value to store: an address, and not what lies there")
        return semantic_store(self, ptr, val, *args, **kwargs)

    @functools.wraps(store)
    def hooked(self: Any, ptrs: Any, value: Any, mask: Any, *args: Any, **kwargs: Any) -> Any:
        observer, launch = state.observer, state.launch
        if observer is None or launch is None:
            return store(self, ptrs, value, mask, *args, **kwargs)
        active = _mask_of(ptrs, mask)
        kind = "atomic" if _Current.atomic else "store"
        stored = np.broadcast_to(value.data, ptrs.data.shape)
        if broken_lanes(ptrs, active) is not None:
            assert launch.promise is not None
            observer.broken_promise(launch.promise, certain=True)
        inside = _observe(
            observer, launch, kind, ptrs, active, True, self.grid_idx, stored, "exchange" if _Current.atomic else ""
        )
        return store(self, ptrs, value, _handle_of(active & inside), *args, **kwargs)

    interp.TritonSemantic.store = of_values
    builder.create_masked_store = hooked


def _patch_atomics(builder: Any) -> None:
    rmw, cas = builder.create_atomic_rmw, builder.create_atomic_cas

    @functools.wraps(rmw)
    def hooked_rmw(self: Any, op: Any, ptr: Any, value: Any, mask: Any, *args: Any, **kwargs: Any) -> Any:
        observer, launch = state.observer, state.launch
        if observer is None or launch is None:
            return rmw(self, op, ptr, value, mask, *args, **kwargs)
        active = _mask_of(ptr, mask)
        only_within = any(str(argument).endswith(".CTA") for argument in args)  # no atomic with regard to other programs
        kind, exchanges = "store" if only_within else "atomic", str(op).endswith("XCHG")
        update: Update = "exchange" if exchanges else "combine"
        inside = _observe(observer, launch, kind, ptr, active, True, self.grid_idx, update=update)
        given, number = value, value.data.dtype
        if exchanges and number.kind == "f":  # the interpreter exchanges integers only
            given = interp.TensorHandle(value.data.view(f"i{number.itemsize}"), value.dtype)
        before = rmw(self, op, ptr, given, _handle_of(active & inside), *args, **kwargs)
        return before if given is value else interp.TensorHandle(before.data.view(number), before.dtype)

    @functools.wraps(cas)
    def hooked_cas(self: Any, ptr: Any, cmp: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
        observer, launch = state.observer, state.launch
        if observer is None or launch is None:
            return cas(self, ptr, cmp, value, *args, **kwargs)
        inside = _observe(observer, launch, "atomic", ptr, _mask_of(ptr, None), True, self.grid_idx, update="compare")
        found = np.full(ptr.data.shape, observer.poison(cmp.data.dtype), dtype=cmp.data.dtype)
        if inside.any():  # there is no mask to leave the stray lanes out with
            lanes = (interp.TensorHandle(_lanes(one, inside), one.dtype) for one in (ptr, cmp, value))
            found[inside] = cas(self, *lanes, *args, **kwargs).data
            if (found == cmp.data)[inside].any():
                observer.swapped()
        return interp.TensorHandle(found, cmp.dtype.scalar)

    builder.create_atomic_rmw, builder.create_atomic_cas = hooked_rmw, hooked_cas
    for name in ("create_atomic_load", "create_atomic_store", "create_atomic_poll"):  # from Triton 3.9 on
        if hasattr(builder, name):
            setattr(builder, name, _atomically(getattr(builder, name)))


def _atomically(method: Any) -> Any:
    """Loads and stores that this method makes are atomic ones."""

    @functools.wraps(method)
    def atomically(self: Any, *args: Any, **kwargs: Any) -> Any:
        _Current.atomic = True
        try:
            return method(self, *args, **kwargs)
        finally:
            _Current.atomic = False

    return atomically


def _patch_barriers(builder: Any) -> None:
    barrier = builder.create_barrier

    @functools.wraps(barrier)
    def hooked(self: Any) -> Any:
        if state.observer is not None:
            state.observer.barrier()
        return barrier(self)

    builder.create_barrier = hooked


def _observe(
    observer: Observer,
    launch: LaunchState,
    kind: str,
    ptrs: Any,
    active: BoolArray,
    other: bool,
    program: Any,
    stored: np.ndarray | None = None,
    update: Update = "",
) -> BoolArray:
    """Find out which lanes lie inside the view that their pointer came from, tell the observer, and return them."""
    width = max(1, ptrs.get_element_ty().primitive_bitwidth // 8)
    addresses = np.ascontiguousarray(ptrs.data)
    candidates = ptrs.attr.get(VIEWS) or _owners(launch, addresses, active, width)
    if not candidates:
        observer.stranger()
        return active
    inside_any = np.zeros(addresses.shape, dtype=np.bool_)
    frame = answer_frame()
    for position, view in enumerate(candidates):
        place = launch.places[view]
        offsets, inside = place.locate(addresses, width)
        inside_any |= inside
        last = position == len(candidates) - 1
        if len(candidates) == 1:
            mine = active
        elif last or (active & inside).any():
            # A pointer chosen among several tensors: each view gets its own lanes, the last one the strays.
            mine = active & (inside | ~inside_any) if last else active & inside
        else:
            continue
        each = max(1, width // place.itemsize)
        begins_within = (addresses[mine & ~inside] - np.uint64(place.address)) % np.uint64(place.itemsize)
        told = 0 if begins_within.any() else width
        access = Access(kind, program, view, offsets, inside, mine, other, frame, each, told, stored, update)
        observer.access(launch, access)
    return inside_any


def _owners(launch: LaunchState, addresses: np.ndarray, active: BoolArray, width: int) -> tuple[int, ...]:
    """The views that a pointer made from a number points into, if every active lane does."""
    found = [place.locate(addresses, width)[1] for place in launch.places]
    owned = np.logical_or.reduce(found) if found else np.zeros(active.shape, dtype=np.bool_)
    return tuple(number for number, inside in enumerate(found) if (active & inside).any()) if owned[active].all() else ()


def _mask_of(ptrs: Any, mask: Any) -> BoolArray:
    if mask is None:
        return np.ones(ptrs.data.shape, dtype=np.bool_)
    data = mask.data if isinstance(mask, interp.TensorHandle) else mask  # block pointers hand over a bare array
    return np.array(np.broadcast_to(data, ptrs.data.shape), dtype=np.bool_)


def _lanes(handle: Any, chosen: BoolArray) -> np.ndarray:
    return np.ascontiguousarray(np.broadcast_to(handle.data, chosen.shape)[chosen])


def _handle_of(mask: BoolArray) -> Any:
    return interp.TensorHandle(mask, interp.tl.int1)
