"""The stage that runs the answer on this machine's GPU."""

from __future__ import annotations

from dataclasses import replace

from course_lib.checking import sandbox
from course_lib.checking.findings import Finding, Skipped
from course_lib.checking.stages.failures import failure_finding
from course_lib.checking.stages.results import difference, returned_as_asked
from course_lib.checking.stages.work import Work, to_compile
from course_lib.device import device


def gpu(work: Work) -> list[Finding]:
    """Run the answer on this machine's GPU, if it has one, and compare again."""
    if not work.use_gpu:
        work.skipped.append(Skipped("gpu", "it was to be judged without a GPU"))
        return []
    if device().mode != "gpu":
        work.skipped.append(Skipped("gpu", "this machine has no GPU in use"))
        return []
    limits = sandbox.Limits(cpu_seconds=60, wall_seconds=90, total_seconds=180, memory_bytes=None)
    cases = to_compile(work)
    outcome = sandbox.run(work.bundle, [case.arguments for case in cases], mode="gpu", limits=limits, exercise=True)
    if outcome.failure is not None:
        number = outcome.failure.case
        failed = failure_finding(outcome.failure, work.bundle, cases[number].label if number >= 0 else None, limits)
        return [replace(failed, message=f"on the GPU, {failed.message}")]
    for case, call in zip(cases, outcome.calls, strict=True):
        if finding := returned_as_asked(work, case, call) or difference(work, case, call):
            return [replace(finding, case=case.label, message=f"on the GPU, {finding.message}")]
    return []
