"""Which tensor a pointer points into, carried along through every operation that makes pointers from pointers."""

from __future__ import annotations

import functools
from typing import Any

import triton.language as tl
import triton.runtime.interpreter as interp

VIEWS = "course.views"
"""Key in `TensorHandle.attr`: the indices of the views that a pointer may point into."""


def patch() -> None:
    """Let every operation that makes a pointer from pointers carry on which views it may point into."""
    builder = interp.InterpreterBuilder
    for name in (
        "create_addptr create_broadcast create_splat create_unsplat create_expand_dims create_reshape create_trans "
        "create_select create_cat create_join create_bitcast create_int_to_ptr create_ptr_to_int create_gather"
    ).split():
        if hasattr(builder, name):
            setattr(builder, name, _carrying(getattr(builder, name)))
    # From Triton 3.8 on, block pointers are no handles: 3.8 makes a tile of pointers of them, and 3.9 has none.
    for handle in (getattr(interp, "BlockPointerHandle", None), interp.TensorDescHandle):
        if handle is not None:
            handle.materialize_pointers = _carrying_base(handle.materialize_pointers)
    # 3.8's have methods, and its interpreter does not hand them what they build with, as it does for functions.
    if block_pointer := getattr(tl.core, "_block_ptr", None):
        for name in ("advance", "load", "store"):
            setattr(block_pointer, name, _interpreted(getattr(block_pointer, name)))


def _carrying(method: Any) -> Any:
    @functools.wraps(method)
    def carry(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = method(self, *args, **kwargs)
        if isinstance(result, interp.TensorHandle):
            views: tuple[int, ...] = ()
            for argument in args:
                if isinstance(argument, interp.TensorHandle):
                    views += argument.attr.get(VIEWS, ())
            if views:
                result.attr[VIEWS] = tuple(dict.fromkeys(views))
        return result

    return carry


def _interpreted(method: Any) -> Any:
    @functools.wraps(method)
    def call(self: Any, *args: Any, _semantic: Any = None, **kwargs: Any) -> Any:
        return method(self, *args, _semantic=_semantic or interp.interpreter_semantic, **kwargs)

    return call


def _carrying_base(method: Any) -> Any:
    @functools.wraps(method)
    def carry(self: Any, *args: Any) -> Any:
        pointers, mask = method(self, *args)
        pointers.attr[VIEWS] = self.base.attr.get(VIEWS, ())
        return pointers, mask

    return carry
