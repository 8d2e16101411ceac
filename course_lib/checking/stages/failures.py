"""A run of the answer that did not end well, as a finding."""

from __future__ import annotations

from course_lib.checking import advice, sandbox
from course_lib.checking.bundle import Bundle
from course_lib.checking.findings import Finding
from course_lib.checking.outcome import Failure

LIMITS = sandbox.Limits()


def failure_finding(failure: Failure, bundle: Bundle, case: str | None, limits: sandbox.Limits = LIMITS) -> Finding:
    """A run that did not end well, as a finding."""
    line, kernel = failure.frames[-1] if failure.frames else (None, None)
    source = bundle.line(line) if line else None
    kind, message, details = _failure_text(failure, limits)
    advised = advice.for_message(failure.message) if kind == "crash" else None
    if source and not failure.exact:
        details.insert(0, "The line is that of its last access to memory.")
    return Finding(
        kind,
        message,
        case=case,
        kernel=(kernel or None) if failure.program else None,
        program=failure.program,
        source=source,
        details=() if advised else tuple(details),
        advice=advised,
    )


def _failure_text(failure: Failure, limits: sandbox.Limits) -> tuple[str, str, list[str]]:
    if failure.kind == "not_done":
        return "not_done", "a blank is still open: replace the `raise NotImplementedError()`", []
    if failure.kind == "unsupported":
        doctor = "`course doctor` says whether another version of Triton or NumPy would help."
        return "no_verdict", f"this cannot be judged on the CPU: {failure.message}", [doctor]
    if failure.kind == "timeout":
        spent = limits.cpu_seconds if failure.type == "cpu" else limits.wall_seconds
        doing = "of computing" if failure.type == "cpu" else "of waiting"
        return "timeout", f"the answer had not finished after {spent:.0f} s {doing}, and was stopped", []
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
