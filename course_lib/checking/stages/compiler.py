"""The stage that compiles every launch for GPUs of several generations."""

from __future__ import annotations

from dataclasses import replace

from course_lib.checking import advice, explain, sandbox
from course_lib.checking.bundle import Bundle
from course_lib.checking.findings import Finding, Skipped, SourceLine
from course_lib.checking.outcome import Failure, Outcome
from course_lib.checking.reading import Text
from course_lib.checking.stages.failures import failure_finding
from course_lib.checking.stages.memory import use_of_memory
from course_lib.checking.stages.values import values
from course_lib.checking.stages.work import CaseRun, Work, to_compile


def compiler(work: Work) -> list[Finding]:
    """Compile every launch for GPUs of several generations: the interpreter accepts much that a compiler refuses.

    A kernel that ran in the interpreter and was not compiled is no pass. Of an answer whose use of memory or whose values are
    known to be wrong, one case is compiled for one GPU: all there is to learn is whether it means anything at all.
    """
    # Memory for several compilations at once.
    limits = sandbox.Limits(cpu_seconds=100, wall_seconds=100, total_seconds=100, memory_bytes=2**32)
    cases, targets = to_compile(work), work.exercise.targets
    if wrong := use_of_memory(work) or values(work):
        cases, targets = [case for case in work.cases if case.label == wrong[0].case], targets[-1:]
    arguments = [case.arguments for case in cases]
    asks = work.exercise.compiled_code is not None
    outcome = sandbox.run(work.bundle, arguments, mode="compile", targets=targets, limits=limits, code=asks, exercise=True)
    work.code = {(cases[number].label, target): code for (target, number), code in outcome.code.items()}
    failure = outcome.failure
    case = cases[failure.case].label if failure and 0 <= failure.case < len(cases) else None
    if failure and failure.kind == "does_not_compile":
        return [_refusal(failure, work.bundle, case)]
    if wrong:
        return []  # the stages that follow say so
    if outcome.unavailable is not None:
        work.skipped.append(Skipped("compiler", outcome.unavailable))
        return []
    if failure is None:
        why = _not_compiled(cases, outcome)
        return (values(work) or [why]) if why else []
    found = failure_finding(failure, work.bundle, case, limits)
    kind = "no_verdict" if found.kind == "timeout" else found.kind
    return [replace(found, kind=kind, message=f"{found.message}, while its kernels were being compiled", details=())]


def _refusal(failure: Failure, bundle: Bundle, case: str | None) -> Finding:
    told = failure.details
    source = bundle.line(told["line"]) if told["line"] > 0 else None
    reason, *more = failure.message.splitlines() or [""]
    line = source.text if source else ""
    advised = explain.of_error(explain.Trouble(failure.message, line, told["kernel"], True, Text(bundle.source), bundle.name))
    return Finding(
        "does_not_compile",
        f"for {advice.gpu(told['target'])}, {'Triton says: ' if told['by_triton'] else ''}{reason}",
        case=case,
        kernel=told["kernel"],
        source=SourceLine(*told["elsewhere"]) if "elsewhere" in told else source,
        details=() if advised else tuple(more[:4]),
        advice=advised,
    )


def _not_compiled(cases: list[CaseRun], outcome: Outcome) -> Finding | None:
    """A kernel that ran in the interpreter, and not where launches are compiled.

    A launcher may choose its kernels by the GPU, so each must be compiled for one target at least; but where it stopped over an
    error, for that one.
    """
    ran = [case.kernels for case in cases]
    missing = [
        (number, f"the launcher stopped before it launched `{kernel}`: {error}")
        for target, number, error in outcome.stopped
        for kernel in sorted(ran[number])
        if (target, number, kernel) not in outcome.compiled
    ]
    compiled = {(number, kernel) for _, number, kernel in outcome.compiled}
    missing += [
        (number, f"the launcher did not launch `{kernel}`")
        for number, kernels in enumerate(ran)
        for kernel in sorted(kernels)
        if (number, kernel) not in compiled
    ]
    if not missing:
        return None
    number, reason = missing[0]
    return Finding(
        "no_verdict",
        f"where kernels are compiled for a GPU, and not run, {reason}",
        case=cases[number].label,
        details=("Which kernels a launcher launches must not depend on what they compute.",),
    )
