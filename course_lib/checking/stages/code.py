"""The stage that looks at what the launches were compiled to."""

from __future__ import annotations

from dataclasses import replace

from course_lib.checking import advice
from course_lib.checking.findings import Finding
from course_lib.checking.stages.work import CaseRun, Work, first


def compiled_code(work: Work) -> list[Finding]:
    """Look at what the launches were compiled to, if the exercise asks something of it."""
    return first(work, _code_of_case)


def _code_of_case(work: Work, case: CaseRun) -> Finding | None:
    """What is amiss on the first GPU where something is."""
    exercise, trace = work.exercise, case.calls[0].trace
    if exercise.compiled_code is None or not work.code:  # then nothing could be compiled, and that has been noted
        return None
    for target in exercise.targets:
        code = work.code.get((case.label, target), ())
        if [one.kernel for one in code] != [launch.kernel for launch in trace.launches]:
            return Finding("no_verdict", f"for {advice.gpu(target)}, other kernels are launched than in the interpreter")
        if finding := exercise.compiled_code(trace, code):
            return replace(finding, message=f"for {advice.gpu(target)}, {finding.message}")
    return None
