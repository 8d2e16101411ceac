"""The stage for exercises in plain Python or torch: what came back, and what the answer may not do on the way."""

from __future__ import annotations

import torch

from course_lib.checking import advice, memory
from course_lib.checking.findings import Finding
from course_lib.checking.outcome import Call
from course_lib.checking.stages.cases import run
from course_lib.checking.stages.results import overwritten, returned_as_asked
from course_lib.checking.stages.work import CaseRun, Work, first

VALUES = frozenset({"_local_scalar_dense", "tolist", "numpy"})
"""What takes numbers out of tensors."""


def run_by_rules(work: Work) -> list[Finding]:
    """The stage that runs the answer. If it stops with an error, what the finished cases show by then says more."""
    failed = run(work)
    return (rules(work) or failed) if failed else []


def rules(work: Work) -> list[Finding]:
    """Judge whether the answer did without what is forbidden, left its inputs alone, and returned what it should."""
    return first(work, _rules_of_case)


def _rules_of_case(work: Work, case: CaseRun) -> Finding | None:
    found = (_forbidden(work, call) or returned_as_asked(work, case, call) or _changed(work, case, call) for call in case.calls)
    return next(filter(None, found), None) or overwritten(case)


def _forbidden(work: Work, call: Call) -> Finding | None:
    forbids = work.exercise.forbids
    if not forbids:
        return None
    if call.elsewhere:
        started = f"the answer started a {call.elsewhere[0]}, and nobody can see what is done there"
        return Finding("forbidden", started, pattern="elsewhere")
    used = sorted(name for name in call.ops if "::" in name or any(word in name for word in forbids))
    if not used:
        return None
    pattern = "value" if set(used) <= VALUES else ""
    return Finding("forbidden", f"the answer used {', '.join(dict.fromkeys(map(advice.as_written, used)))}", pattern=pattern)


def _changed(work: Work, case: CaseRun, call: Call) -> Finding | None:
    before = [a if isinstance(a, torch.Tensor) else None for a in case.arguments]
    return memory.input_changed(call.trace, before, call.after, work.exercise.parameters, call.changed)
