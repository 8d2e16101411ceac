"""What the stages of a check share: its cases, what is known of them, and the order in which they are judged."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from course_lib.catalog.model import Exercise, Params
from course_lib.checking import advice
from course_lib.checking.bundle import Bundle
from course_lib.checking.findings import Finding, Skipped
from course_lib.checking.launch_code import LaunchCode
from course_lib.checking.memory import Programs
from course_lib.checking.outcome import Call
from course_lib.checking.plain_numbers import Form

AGAIN = ", again with other values"
"""What follows the label of a case that is run a second time in the same process, since something may stay from the first."""


@dataclass(frozen=True, eq=False)
class CaseRun:
    """One case: its parameters, its arguments (which the answer never saw, only copies), and the calls made on them."""

    label: str
    params: Params
    arguments: tuple[Any, ...]
    want: torch.Tensor
    """What the reference makes of the arguments; as float64 if that is no tensor."""
    form: Form = "tensor"
    calls: tuple[Call, ...] = ()
    deaf: Call | None = None
    """The call in which simulated threads got nothing from each other."""
    overwritten: bool = False
    """Whether the result no longer held, after later calls, what it had held at first."""
    long: bool = False
    """Whether it is one of `Exercise.long`."""

    @property
    def kernels(self) -> set[str]:
        """The names of the kernels that were launched."""
        return {launch.kernel for call in self.calls[:1] for launch in call.trace.launches}

    @property
    def size(self) -> int:
        """How large the case is, for picking the smallest that fails."""
        return sum(map(_size, self.arguments))


def _size(argument: Any) -> int:
    if isinstance(argument, torch.Tensor):
        return argument.numel()
    return len(argument) if isinstance(argument, (tuple, list)) else argument if isinstance(argument, int) else 0


@dataclass
class Work:
    """What the stages of one check share."""

    exercise: Exercise
    bundle: Bundle
    seed: int
    use_gpu: bool = True
    cases: list[CaseRun] = field(default_factory=list)
    printed: str = ""
    skipped: list[Skipped] = field(default_factory=list)
    memory_findings: dict[str, Finding | None] = field(default_factory=dict)
    """What the use of memory in a case came to, by the case's label: two stages ask, and it is judged once."""
    value_findings: dict[str, Finding | None] = field(default_factory=dict)
    """What the comparison with the reference came to in a case, by the case's label; several stages ask here, too."""
    code: dict[tuple[str, int], tuple[LaunchCode, ...]] = field(default_factory=dict)
    """The compiled code of a case's launches by the case's label and the target, if the exercise asks something of it."""
    programs: dict[str, list[Programs]] = field(default_factory=dict)
    """What the programs of a case's launches had to do, by the case's label."""


Stage = Callable[[Work], list[Finding]]
Judge = Callable[[Work, CaseRun], Finding | None]


def to_compile(work: Work) -> list[CaseRun]:
    """The cases whose launches are compiled: of the long ones, those that launch a kernel which no other case does."""
    elsewhere = set().union(*(case.kernels for case in work.cases if not case.long))
    return [case for case in work.cases if not case.long or not case.kernels <= elsewhere]


def label(params: Params) -> str:
    """A case's name in reports: ``label({"n": 129})`` is ``"n=129"``."""
    return ", ".join(f"{name}={value}" for name, value in params.items())


def first(work: Work, judge: Judge) -> list[Finding]:
    """The finding of the smallest case that has one."""
    return list(itertools.islice(in_order(work, judge), 1))


def in_order(work: Work, judge: Judge) -> Iterator[Finding]:
    """The findings of all cases, the smallest case first; one without any element shows least, and comes last."""
    for case in sorted((case for case in work.cases if case.calls), key=lambda case: (case.size == 0, case.size)):
        if finding := judge(work, case):
            yield _with_its_choice(replace(finding, case=case.label, given=_layout(case, work.exercise)), case)


def _with_its_choice(finding: Finding, case: CaseRun) -> Finding:
    """The finding, with what an autotuned kernel has to do with it, if it ran with an earlier call's choice."""
    outdated = next((call.outdated_choice for call in case.calls if call.outdated_choice), None)
    return replace(finding, details=(outdated, *finding.details), advice=advice.TUNED_TOO_SELDOM) if outdated else finding


def _layout(case: CaseRun, exercise: Exercise) -> str:
    """In words, what a case's label does not say: the strides of arguments that are not contiguous."""
    odd = (
        f"`{name}` has the strides {tuple(value.stride())}"
        for name, value in zip(exercise.parameters, case.arguments, strict=True)
        if isinstance(value, torch.Tensor) and not value.is_contiguous()
    )
    return ", ".join(odd)
