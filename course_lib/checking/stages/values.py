"""The stage that compares the results with the reference."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import torch

from course_lib.checking import memory
from course_lib.checking.compare import BY_PLACES, PATTERN, compare
from course_lib.checking.findings import Finding
from course_lib.checking.stages.results import ORDERS, difference, in_words, numbers_of
from course_lib.checking.stages.work import AGAIN, CaseRun, Work, in_order

KINDS_OF_VARIATIONS = {"reordered": "reordered", **dict.fromkeys(ORDERS, "program_order")}
"""What it means that a result is wrong in one of these ways of running the call, and right in the first."""
CHANCE = 3
"""How many times as many cases without a shape make it chance that some are wrong in places that look like one."""


def values(work: Work) -> list[Finding]:
    """Compare the results with the reference, computed here on inputs that the answer never touched.

    A case of a few elements shows no pattern, so the smallest of those is reported whose difference has the shape that is
    recognised most often; but places that few of the larger cases show are chance. NaN is none, however small the case: where
    the smallest one has it, that is reported. That all elements are the same
    explains something only if it is so in every case that has three or more and expects different ones. Inputs of
    special values, infinities among them, are looked at once ordinary numbers are right.
    """
    found = list(in_order(work, _values_of_case))
    found = [finding for finding in found if finding.kind != "no_verdict"] or found[:1]  # what is surely wrong comes first
    for kind_of_inputs in ("finite", "ordinary"):
        found = [finding for finding in found if finding.evidence.get(kind_of_inputs, False)] or found
    if found and found[0].kind == "nan":
        return found[:1]
    shapes = Counter(finding.kind for finding in found if finding.kind != "mismatch")
    if any(finding.kind != "constant" and finding.evidence.get("varied", False) for finding in found):
        del shapes["constant"]
    shapeless = sum(finding.kind == "mismatch" and finding.evidence.get("elements", 0) >= PATTERN for finding in found)
    kind, often = shapes.most_common(1)[0] if shapes else ("mismatch", 0)
    if kind in BY_PLACES and shapeless > CHANCE * often:
        kind = "mismatch"
    return [_of_all_cases(work, finding) for finding in found if finding.kind == kind][:1]


def _of_all_cases(work: Work, finding: Finding) -> Finding:
    """The finding; as "scaled" where every case has one number, and all are wrong by the same factor.

    A single number shows no factor: 4 instead of 2 could be anything. Several do.
    """
    pairs = [(numbers_of(case.calls[0]), case.want) for case in work.cases if case.calls and case.form == "number"]
    known = [(numbers.tensor, want) for numbers, want in pairs if numbers is not None and want.isfinite()]
    if finding.kind != "mismatch" or not known:
        return finding
    got, want = (torch.stack(column) for column in zip(*known, strict=True))
    mismatch = compare(got, want, work.exercise.tolerance)
    if mismatch is None or mismatch.kind != "scaled":
        return finding
    return replace(
        finding, kind="scaled", pattern="", message=mismatch.message.replace("every element", "in every case the number")
    )


def _values_of_case(work: Work, case: CaseRun) -> Finding | None:
    if case.label not in work.value_findings:
        work.value_findings[case.label] = _compared(work, case)
    return work.value_findings[case.label]


def _compared(work: Work, case: CaseRun) -> Finding | None:
    found = ((call, in_words(call, difference(work, case, call))) for call in case.calls)
    call, finding = next(((call, finding) for call, finding in found if finding), (None, None))
    if call is not None and finding is not None and call.variation in KINDS_OF_VARIATIONS:
        finding = replace(finding, kind=KINDS_OF_VARIATIONS[call.variation], pattern="")
    if finding is not None and case.label.endswith(AGAIN):
        kept = "The same call with other values came before. Does something stay from one call to the next?"
        finding = replace(finding, details=(kept, *finding.details))
    if call is not None and call.notes and any(_has_nan(argument) for argument in case.arguments):
        reason = f"{call.notes[0]}: the interpreter skips it there, and a GPU may not"
        return Finding("no_verdict", f"this case cannot be judged on the CPU, since {reason}")
    return finding or memory.behind_a_lock(case.calls[0].trace)


def _has_nan(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and bool(value.isnan().any())
