"""What a compiled kernel takes for granted of its arguments, and whether those of a launch are like that. Pure.

Triton compiles a kernel for the arguments of one launch: for their types, for each constant, for numbers that are 1, and for
numbers and addresses that are multiples of 16. `kernel[grid](…)` compiles anew where a launch is otherwise. A compiled kernel
that somebody has kept does not look.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import torch

WIDTH = 16
"""Numbers and addresses that are multiples of this are compiled as such."""


def broken_assumption(
    compiled_for: Mapping[str, Any],
    launched_with: Mapping[str, Any],
    constants: Collection[str],
    plain: Collection[str],
    anywhere: Collection[str] = (),
) -> str | None:
    """The first argument of a launch that is otherwise than it was compiled for, in words; None if there is none.

    Both have arguments by name. `constants` names those that are `tl.constexpr`, `plain` those of which only the type counts,
    `anywhere` those of which it does not count whether they are multiples of `WIDTH`.

    >>> broken_assumption({"n": 32}, {"n": 48}, (), ()) is None
    True
    >>> broken_assumption({"n": 32}, {"n": 33}, (), ())
    '`n` was a multiple of 16 (32), and is 33'
    """
    for name, then in compiled_for.items():
        if (now := launched_with.get(name)) is not None and (
            unlike := _unlike(then, now, name in constants, name in plain, name in anywhere)
        ):
            return f"`{name}` was {unlike}"
    return None


def _unlike(then: Any, now: Any, constant: bool, plain: bool, anywhere: bool) -> str | None:
    if constant:
        return f"the constant {then!r}, and is {now!r}" if then != now else None
    if _kind(then) != _kind(now):
        return f"{_kind(then)}, and is {_kind(now)}"
    if plain or isinstance(then, (bool, float)) or then is None:
        return None
    if isinstance(then, int):
        if then == 1 != now:
            return f"1, which is compiled as a constant, and is {now}"
        return f"a multiple of {WIDTH} ({then}), and is {now}" if not anywhere and then % WIDTH == 0 != now % WIDTH else None
    if not anywhere and _address(then) == 0 != _address(now):
        return f"a tensor that begins at a multiple of {WIDTH} bytes, and begins elsewhere"
    return None


def _kind(value: Any) -> str:
    """What Triton takes a value for, in words."""
    if isinstance(value, (torch.Tensor, torch.dtype)):
        dtype = value if isinstance(value, torch.dtype) else value.dtype
        return f"a tensor of {str(dtype).removeprefix('torch.')}"
    if isinstance(value, int) and not isinstance(value, bool):
        return "a number of 32 bits" if -(2**31) <= value < 2**31 else "a number of 64 bits"
    return f"a {type(value).__name__}"


def _address(value: Any) -> int:
    """Where a tensor begins, modulo `WIDTH`; a dtype stands for a tensor that begins at a multiple of it."""
    return value.data_ptr() % WIDTH if isinstance(value, torch.Tensor) else 0
