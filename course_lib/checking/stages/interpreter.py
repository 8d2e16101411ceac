"""The stage that runs the answer in the interpreter: on the exercise's cases, and on those around the block size it used."""

from __future__ import annotations

from course_lib.checking.findings import Finding
from course_lib.checking.stages.cases import larger_half, make_again, make_case, make_cases, run_cases
from course_lib.checking.stages.memory import use_of_memory
from course_lib.checking.stages.values import values
from course_lib.checking.stages.work import AGAIN, CaseRun, Work, label

MOST_STRADDLING = 3
"""How often at most cases around newly seen block sizes are added."""


def interpret(work: Work) -> list[Finding]:
    """Run the answer on every case in the interpreter, the smaller half first, then on those around its block size.

    These may show it to use another block size for longer data, and call for further cases. What smaller cases show, larger
    ones need not: they would take long for an answer that starts far too many programs. Nor are more cases needed where the
    values are wrong in a way that is recognised; others may show it in a form that is.
    """
    cases = make_cases(work)
    large = larger_half(cases)
    small = [case for case in cases if case.size and case not in large]
    if findings := _run(work, small, variations=True):
        return findings
    if use_of_memory(work):
        return []
    if findings := _run(work, [*(case for case in cases if case not in small), *make_again(work, cases)], variations=True):
        return findings
    blocks = _common_tiles(work.cases) | _longest_tile(work.cases)
    for _ in range(MOST_STRADDLING):
        if use_of_memory(work) or any(finding.kind != "mismatch" for finding in values(work)):
            return []  # the cases so far show it already: no need to go on to larger ones
        labels = {case.label for case in work.cases}
        around = (case for block in sorted(blocks) for case in work.exercise.straddle(block))
        more = {label(case): case for case in around if label(case) not in labels}
        if not more:
            break
        seen = len(work.cases)
        if findings := _run(work, [make_case(work, params) for params in more.values()]):
            return findings
        blocks = _common_tiles(work.cases[seen:]) - blocks
    return []


def _run(work: Work, cases: list[CaseRun], variations: bool = False) -> list[Finding]:
    failed = run_cases(work, cases, variations)
    if failed is None:
        return []
    # What the finished cases show says more than that the time was up, or that no elements need care.
    shown = use_of_memory(work) if failed.failure.kind in ("timeout", "crash") else []
    shown = shown or (values(work) if failed.failure.kind == "timeout" else [])
    return shown or [failed.finding]


def _tiles(case: CaseRun) -> set[int]:
    """The lengths beyond 1, along any axis, of the tiles that the answer loads and stores in a case."""
    return {size for call in case.calls[:1] for event in call.trace.events for size in event.shape if size > 1}


def _common_tiles(cases: list[CaseRun]) -> set[int]:
    """The lengths of tiles that two or more cases have in common with all others: those which the answer has chosen.

    One that fits its tile to the data has another length for each case, and straddling them all would only cost time.
    """
    tiles = [found for case in cases if not case.label.endswith(AGAIN) and (found := _tiles(case))]
    return set.intersection(*tiles) if len(tiles) > 1 else set()


def _longest_tile(cases: list[CaseRun]) -> set[int]:
    return {max(sizes)} if (sizes := set().union(*(_tiles(case) for case in cases if not case.long))) else set()
