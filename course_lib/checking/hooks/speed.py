"""What the interpreter does in vain, left out: that saves a good part of the time of a check."""

from __future__ import annotations

import functools
import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as interp
from triton.language.core import is_builtin
from triton.language.semantic import TritonSemantic


def patch() -> None:
    """Leave it out from now on."""
    options = interp.interpreter_builder.options
    # Triton looks for integers that overflow by eleven operations on tiles, and tells of them in debug mode only.
    interp.interpreter_builder.options = replace(options, sanitize_overflow=options.sanitize_overflow and options.debug)
    interp._get_np_dtype = _remembering(interp._get_np_dtype)
    interp._patch_builtin = _members_listed_once
    tl.block_type.__init__ = _shape_read_once(tl.block_type.__init__)
    tl.tensor.__init__ = _fields_made_once(tl.tensor.__init__)
    TritonSemantic.broadcast_impl_value = _where_shapes_differ(TritonSemantic.broadcast_impl_value)


def _remembering(original: Any) -> Any:
    """NumPy's type for one of Triton's, which makes the whole table anew each time."""
    known: dict[str, np.dtype] = {}

    @functools.wraps(original)
    def numpys(tritons: Any) -> np.dtype:
        name = tritons.scalar.name
        if name not in known:
            known[name] = original(tritons)
        return known[name]

    return numpys


@functools.cache
def _builtins(package: Any) -> list[str]:
    return [name for name, member in inspect.getmembers(package) if is_builtin(member)]


def _members_listed_once(package: Any, *others: Any) -> None:
    """`_patch_builtin`, which looks through all of Triton's language at each launch and each call of a helper."""
    for name in _builtins(package):
        member = getattr(package, name)
        if is_builtin(member):  # else it has been patched by a launch that is under way
            interp._patch_attr(package, name, member, *others)


def _shape_read_once(original: Any) -> Any:
    """`block_type.__init__`, which checks its shape and writes it down as text for each result of each operation."""
    known: dict[tuple[Any, ...], dict[str, Any]] = {}

    @functools.wraps(original)
    def made(self: Any, element_ty: Any, shape: Any) -> None:
        if not isinstance(shape, (list, tl.tuple)) or not all(type(length) is int for length in shape):
            original(self, element_ty, shape)
            return
        key = (element_ty.name, *shape)
        if key not in known:
            original(self, element_ty, shape)
            known[key] = dict(vars(self))
        vars(self).update(known[key], element_ty=element_ty)

    return made


def _fields_made_once(original: Any) -> Any:
    """`tensor.__init__`, which wraps each length of its shape: tensors of one type share what follows from it."""
    known: dict[str, dict[str, Any]] = {}

    @functools.wraps(original)
    def made(self: Any, handle: Any, type: Any) -> None:
        if type.name not in known:
            original(self, handle, type)
            known[type.name] = dict(vars(self))
        vars(self).update(known[type.name], handle=handle, type=type, dtype=type.scalar)

    return made


def _where_shapes_differ(original: Any) -> Any:
    """Broadcasting two operands to one shape, which takes long to find that they have the same."""

    @functools.wraps(original)
    def broadcast(self: Any, lhs: Any, rhs: Any) -> tuple[Any, Any]:
        if lhs.type.is_block() and rhs.type.is_block() and list(lhs.type.shape) == list(rhs.type.shape):
            return lhs, rhs
        pair: tuple[Any, Any] = original(self, lhs, rhs)
        return pair

    return broadcast
