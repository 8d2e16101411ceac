"""A run of the answer that did not end well, as a finding."""

from __future__ import annotations

import math

from course_lib.checking import explain, sandbox
from course_lib.checking.bundle import Bundle
from course_lib.checking.findings import Finding, SourceLine
from course_lib.checking.outcome import Failure
from course_lib.checking.reading import Text

LIMITS = sandbox.Limits()


def failure_finding(
    failure: Failure, bundle: Bundle, case: str | None, limits: sandbox.Limits = LIMITS, asked: str = ""
) -> Finding:
    """A run that did not end well, as a finding. `asked` is how the exercise calls the answer, such as "double(x)"."""
    line, kernel = failure.frames[-1] if failure.frames else (None, None)
    source = bundle.line(line) if line else None
    kind, message, details = _failure_text(failure, limits)
    advised = _advised(failure, kind, bundle, source, asked)
    if source and not failure.exact:
        details.insert(0, "The line is that of its last access to memory.")
    return Finding(
        kind,
        message,
        case=case,
        kernel=(kernel or None) if failure.program else None,
        program=failure.program,
        source=source,
        details=() if advised and kind == "crash" else tuple(details),
        advice=advised,
    )


def _advised(failure: Failure, kind: str, bundle: Bundle, source: SourceLine | None, asked: str) -> str | None:
    text, inside = Text(bundle.source), failure.frames[-1][1] if failure.frames else ""
    in_kernel = failure.program is not None
    if kind == "crash":
        line = source.text if source else ""
        trouble = explain.Trouble(
            failure.message, line, inside, in_kernel, text, bundle.name, asked=asked, clues=failure.details
        )
        return explain.of_error(trouble)
    if failure.kind == "timeout":
        grid = tuple(map(int, failure.details.get("grid", (0, 0, 0))))
        return explain.of_timeout(text, inside if in_kernel else None, grid, failure.type == "wall")
    return None


def _failure_text(failure: Failure, limits: sandbox.Limits) -> tuple[str, str, list[str]]:
    if failure.kind == "not_done":
        return "not_done", "a blank is still open: replace the `raise NotImplementedError()`", []
    if failure.kind == "unsupported":
        doctor = "`course doctor` says whether another version of Triton or NumPy would help."
        return "no_verdict", f"this cannot be judged on the CPU: {failure.message}", [doctor]
    if failure.kind == "timeout":
        spent = limits.cpu_seconds if failure.type == "cpu" else limits.wall_seconds
        doing = "of computing" if failure.type == "cpu" else "of waiting"
        programs = math.prod(failure.details.get("grid", ())) if failure.program else 0
        started = [f"Its kernel had been started with {programs} programs."] if programs > 1 else []
        return "timeout", f"the answer had not finished after {spent:.0f} s {doing}, and was stopped", started
    if failure.kind == "memory_limit":
        gib = (limits.memory_bytes or 0) / 2**30
        return "memory_limit", f"the answer asked for more than {gib:g} GiB of memory, and was stopped", []
    if failure.kind == "too_much_traffic":
        return "timeout", failure.message, ["An answer that reads each element once stays far below this."]
    if failure.kind == "killed":
        return "killed", f"the process of the answer died by the signal {failure.type}", [_SIGNALS.get(failure.type, "")]
    if failure.kind == "exit":
        code = failure.message
        return "killed", f"the answer ended its own process (exit code {code}) instead of returning", []
    text = failure.message.splitlines() or [""]
    return "crash", f"{failure.type}: {text[0]}", text[1:6]


_SIGNALS = {
    "SIGSEGV": "A segmentation fault: memory was touched that does not belong to the process.",
    "SIGABRT": "A library gave up: often an assertion in compiled code.",
    "SIGKILL": "It was ended by force: by the answer itself, or by a machine that ran out of memory.",
    "SIGFPE": "An arithmetic fault, such as an integer division by zero.",
}
