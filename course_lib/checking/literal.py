"""Values as text: literals, where to import a value from, and the parts of an object.

Pure functions that `collect.py` uses; `restored` is also used by what it makes.
"""

from __future__ import annotations

import copyreg
import sys
from types import FunctionType
from typing import Any

IMPORTS = ("import torch as _torch", "import triton as _triton", "import triton.language as _tl")


def literal(value: Any) -> str | None:
    """Text whose value is `value`, if it is plain data that has no parts."""
    kind = type(value)
    if value is None or kind in (bool, int, str, bytes, range, type(...)):
        return repr(value)
    if kind in (float, complex):
        return f"{kind.__name__}({str(value)!r})"
    module, name = kind.__module__, kind.__name__
    if module == "torch" and name in ("dtype", "device", "Size"):
        return f"_{value}" if name == "dtype" else f"_torch.device({str(value)!r})" if name == "device" else f"_{value!r}"
    if module.startswith("triton.language"):
        if name == "constexpr":
            inner = literal(value.value)
            return None if inner is None else f"_tl.constexpr({inner})"
        if name == "dtype":
            return f"_tl.dtype({value.name!r})"
    return None


def same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and literal(one) is not None and literal(one) == literal(other))


def attributes(value: Any) -> dict[str, Any] | None:
    """The attributes of an object that is nothing beyond them, else None."""
    function, arguments, state, *items = (*value.__reduce_ex__(2), None, None)[:5]
    if function is not copyreg.__newobj__ or arguments != (type(value),) or any(item is not None for item in items):  # type: ignore[attr-defined]
        return None
    plain, slots = state if isinstance(state, tuple) else (state, None)
    return {**(plain or {}), **(slots or {})}


def importable(value: Any) -> tuple[str, str] | None:
    """The module and the name by which others can import `value`."""
    named = original(value)
    while type(named).__module__.startswith("triton.") and hasattr(named, "fn"):  # a kernel goes by its function's name
        named = named.fn
    module, called = getattr(named, "__module__", None), getattr(named, "__name__", None)
    if not isinstance(module, str) or not isinstance(called, str) or module == "__main__":
        return None
    return (module, called) if original(getattr(sys.modules.get(module), called, None)) is original(value) else None


def original(value: Any) -> Any:
    """A function of Triton's language, also where the interpreter has put one of its own into its place."""
    if getattr(value, "__module__", None) == "triton.runtime.interpreter" and isinstance(value, FunctionType):
        return (value.__kwdefaults__ or {}).get("member", value)
    return value


def restored(kind: type, attributes: dict[str, Any]) -> Any:
    """An object of this class with these attributes. Bundles use it."""
    value: Any = object.__new__(kind)
    for name, attribute in attributes.items():
        object.__setattr__(value, name, attribute)
    return value
