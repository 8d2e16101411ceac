"""What a wrong result has to do with the arguments: which elements went into each of its own, and whether it is one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from course_lib.catalog.model import Exercise, Tolerance
from course_lib.checking.compare import compare
from course_lib.checking.stages.work import CaseRun


def inputs_shown(exercise: Exercise, case: CaseRun) -> Callable[[tuple[int, ...]], str]:
    """What to add to a wrong element: where each depends on the arguments' elements at its place alone, these; else nothing."""
    if not _is_elementwise(exercise, case):
        return lambda index: ""

    def shown(index: tuple[int, ...]) -> str:
        place = ", ".join(map(str, index))
        values = [
            f"{name}[{place}] = {spelled(value[index].item())}"
            if isinstance(value, torch.Tensor)
            else f"{name} = {spelled(value)}"
            for name, value in zip(exercise.parameters, case.arguments, strict=True)
        ]
        return f", with {', '.join(values)}"

    return shown


def spelled(value: float | int) -> str:
    """A number in digits: a whole one to its last, another one with seven.

    >>> spelled(4611686014132420609), spelled(1 / 3)
    ('4611686014132420609', '0.3333333')
    """
    return str(value) if isinstance(value, int) else f"{value:.7g}"


def _is_elementwise(exercise: Exercise, case: CaseRun) -> bool:
    """Whether moving all arguments on by one place moves the result on by one, and another first element changes no other."""
    tensors = [value for value in case.arguments if isinstance(value, torch.Tensor)]
    numbers = all(isinstance(value, (int, float, torch.Tensor)) for value in case.arguments)
    if not tensors or not numbers or case.form != "tensor" or any(value.shape != case.want.shape for value in tensors):
        return False
    moved = exercise.reference(*[value.roll(1) if isinstance(value, torch.Tensor) else value for value in case.arguments])
    other = exercise.reference(*map(_with_another_first, case.arguments))
    if not isinstance(moved, torch.Tensor) or not isinstance(other, torch.Tensor):
        return False
    exact = Tolerance(rtol=1e-6, atol=1e-12)
    pairs = ((moved, case.want.roll(1)), (other.flatten()[1:], case.want.flatten()[1:]))
    return all(compare(got, want, exact) is None for got, want in pairs)


def _with_another_first(argument: Any) -> Any:
    """A tensor whose first element is its largest one, or if it is that already, its smallest; anything else as it is."""
    if not isinstance(argument, torch.Tensor) or not argument.numel():
        return argument
    flat = argument.flatten()
    other = flat.min() if flat[0] == flat.max() else flat.max()
    return torch.cat((other.view(1), flat[1:])).view(argument.shape)


def as_it_was(exercise: Exercise, case: CaseRun, result: torch.Tensor) -> str | None:
    """The name of the argument that the result is equal to."""
    named = zip(exercise.parameters, case.arguments, strict=True)
    alike = ((name, one) for name, one in named if isinstance(one, torch.Tensor) and one.shape == result.shape)
    return next((name for name, one in alike if one.dtype == result.dtype and compare(result, one, Tolerance()) is None), None)
