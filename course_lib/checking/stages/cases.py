"""Making an exercise's cases, and running the answer on them in a process of its own."""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass, replace

import torch

from course_lib.catalog.model import Params
from course_lib.checking import sandbox
from course_lib.checking.findings import Finding
from course_lib.checking.outcome import Failure
from course_lib.checking.plain_numbers import as_numbers
from course_lib.checking.stages.failures import failure_finding
from course_lib.checking.stages.work import AGAIN, CaseRun, Work, label


@dataclass(frozen=True)
class Failed:
    """Why cases did not all come to their end, as it was and in words."""

    failure: Failure
    finding: Finding


def run(work: Work) -> list[Finding]:
    """The stage that runs the answer on every case, and asks no more than that it comes to its end."""
    cases = make_cases(work)
    failed = run_cases(work, [*cases, *make_again(work, cases)], variations=True)
    return [failed.finding] if failed else []


def make_cases(work: Work) -> list[CaseRun]:
    """The exercise's own cases, and those that are drawn for this seed."""
    drawn = work.exercise.drawn(random.Random(work.seed))
    return [make_case(work, params) for params in (*work.exercise.cases, *work.exercise.long, *drawn)]


def larger_half(cases: list[CaseRun]) -> list[CaseRun]:
    """The larger ones of these cases, from the middle of their sizes upwards."""
    return sorted(cases, key=lambda case: case.size)[len(cases) // 2 :]


def make_again(work: Work, cases: list[CaseRun]) -> list[CaseRun]:
    """Two of middle size once more, with other values, to be run in the same process."""
    return [make_case(work, case.params, AGAIN) for case in larger_half(cases)[:2]]


def run_cases(work: Work, cases: list[CaseRun], variations: bool = False) -> Failed | None:
    """Run these cases, and see whether earlier results live through later calls.

    With `variations`, each is run in all the ways in which a GPU might. The cases around the block size need none of that, as
    the smaller ones have partial tiles as well.
    """
    arguments = [case.arguments for case in cases]
    outcome = sandbox.run(work.bundle, arguments, variations=variations, works_on=work.exercise.works_on, exercise=True)
    for number, case in enumerate(cases):
        made = [call for call in outcome.calls if call.case == number]
        calls = tuple(call for call in made if call.variation != "deaf")
        deaf = next((call for call in made if call.variation == "deaf"), None)
        work.cases.append(replace(case, calls=calls, deaf=deaf, overwritten=number in outcome.overwritten))
    work.printed = work.printed or outcome.printed
    if outcome.failure is None:
        return None
    failed = cases[outcome.failure.case].label if 0 <= outcome.failure.case < len(cases) else None
    return Failed(outcome.failure, failure_finding(outcome.failure, work.bundle, failed, asked=work.exercise.signature))


def make_case(work: Work, params: Params, suffix: str = "") -> CaseRun:
    """A case, with the arguments that its label and the seed give, and what is right for them."""
    name = label(params) + suffix
    generator = torch.Generator().manual_seed(work.seed ^ zlib.crc32(name.encode()))
    arguments = work.exercise.make_inputs(generator, **params)
    want = work.exercise.reference(*arguments)
    if isinstance(want, torch.Tensor):
        return CaseRun(name, params, arguments, want, long=params in work.exercise.long)
    numbers = as_numbers(want)
    assert numbers is not None, f"the reference of {work.exercise.name} returned {want!r}"
    return CaseRun(name, params, arguments, numbers.tensor, numbers.form)
