"""Numbers that are no tensors, as tensors: what exercises in plain Python take and return. Pure.

Used on both sides: for the reference's result in the parent, and for the answer's in its own process.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from course_lib.machine.undefined import UNDEFINED

Form = Literal["tensor", "number", "list"]


@dataclass(frozen=True)
class Numbers:
    """One number, or a list of them. `undefined` are the places of `UNDEFINED`, where `values` has NaN."""

    form: Form
    values: tuple[float, ...]
    undefined: tuple[int, ...] = ()

    @property
    def tensor(self) -> torch.Tensor:
        """As float64, of shape `[]` or `[len(values)]`."""
        values = torch.tensor(self.values, dtype=torch.float64)
        return values[0] if self.form == "number" else values


def as_numbers(value: Any) -> Numbers | None:
    """A number, or a tuple, list or vector of numbers; None for anything else. True and False are no numbers here.

    >>> as_numbers(3), as_numbers([1, UNDEFINED])
    (Numbers(form='number', values=(3.0,), undefined=()), Numbers(form='list', values=(1.0, nan), undefined=(1,)))
    >>> as_numbers("3") is None
    True
    """
    if isinstance(value, torch.Tensor) and value.layout != torch.strided:
        return None  # a sparse one
    if isinstance(value, (torch.Tensor, np.ndarray)):
        value = value.tolist()
    if _is_number(value):
        return Numbers("number", (_float(value),), (0,) if value is UNDEFINED else ())
    if not isinstance(value, (tuple, list)):
        return None
    values = [one.item() if isinstance(one, torch.Tensor) and one.dim() == 0 else one for one in value]
    if not all(map(_is_number, values)):
        return None
    return Numbers("list", tuple(map(_float, values)), tuple(place for place, one in enumerate(values) if one is UNDEFINED))


def _is_number(value: Any) -> bool:
    return value is UNDEFINED or (isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)))


def _float(value: Any) -> float:
    if value is UNDEFINED:
        return float("nan")
    try:
        return float(value)
    except OverflowError:  # a whole number beyond all floats
        return float("inf") if value > 0 else float("-inf")
