"""The stages for exercises about threads: what the simulated blocks did, and whether the threads needed each other."""

from __future__ import annotations

from course_lib.checking import threads
from course_lib.checking.findings import Finding
from course_lib.checking.stages.results import numbers_of, returned_as_asked
from course_lib.checking.stages.work import CaseRun, Work, first


def use_of_threads(work: Work) -> list[Finding]:
    """Judge races, undefined values, threads that wait for ever, and whether threads did the work at all."""
    return first(work, _threads_of_case)


def exchange(work: Work) -> list[Finding]:
    """See that no result was there which threads could not know without each other.

    Comes after the values: a wrong result that needs no other thread is just wrong.
    """
    return first(work, _exchange_of_case)


def _threads_of_case(work: Work, case: CaseRun) -> Finding | None:
    asked = work.exercise.n_threads(*case.arguments)
    for call in case.calls:
        judged = threads.judge(call.blocks, asked, numbers_of(call), work.bundle.line)
        finding = judged or returned_as_asked(work, case, call)
        if finding:
            return finding
    return None


def _exchange_of_case(work: Work, case: CaseRun) -> Finding | None:
    several = max((len(a) for a in case.arguments if isinstance(a, (tuple, list))), default=0) > 1
    numbers, deaf = numbers_of(case.calls[0]), numbers_of(case.deaf) if case.deaf else None
    if not several or numbers is None or deaf is None or not any(block.threads > 1 for block in case.calls[0].blocks):
        return None
    known = {place: value for place, value in enumerate(deaf.values) if place not in deaf.undefined}
    return threads.known_alone(case.calls[0].blocks, numbers.values, known)
