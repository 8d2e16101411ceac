"""The stages of a check. Each is one function with one signature: `stage(work) -> list[Finding]`.

A stage reads what earlier stages left in `Work`, adds its own, and returns what it found; an empty list lets the next
one run. `STAGES` is the flow. A stage that needs what this machine lacks notes a `Skipped` in `work.skipped`.
"""

from __future__ import annotations

import itertools
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from course_lib.catalog.model import Exercise, Params
from course_lib.checking import advice, memory, sandbox
from course_lib.checking.bundle import Bundle
from course_lib.checking.compare import compare
from course_lib.checking.findings import Finding, Skipped
from course_lib.checking.outcome import Call, Failure
from course_lib.device import device


@dataclass(frozen=True)
class CaseRun:
    """One case: its parameters, its arguments (which the answer never saw, only copies), and the calls made on them."""

    label: str
    arguments: tuple[Any, ...]
    want: torch.Tensor
    """What the reference makes of the arguments."""
    calls: tuple[Call, ...] = ()

    @property
    def size(self) -> int:
        """How large the case is, for picking the smallest that fails."""
        return sum(a.numel() if isinstance(a, torch.Tensor) else a if isinstance(a, int) else 0 for a in self.arguments)


@dataclass
class Work:
    """What the stages of one check share."""

    exercise: Exercise
    bundle: Bundle
    seed: int
    cases: list[CaseRun] = field(default_factory=list)
    printed: str = ""
    skipped: list[Skipped] = field(default_factory=list)
    memory_findings: dict[str, Finding | None] = field(default_factory=dict)
    """What the use of memory in a case came to, by the case's label: two stages ask, and it is judged once."""


Stage = Callable[[Work], list[Finding]]
LIMITS = sandbox.Limits()


def interpret(work: Work) -> list[Finding]:
    """Run the answer on every case in the interpreter, then on the cases around the block size that it used."""
    if findings := _run(work, work.exercise.cases):
        return findings
    if use_of_memory(work):
        return []  # the small cases show it already: no need to go on to larger ones
    labels = {case.label for case in work.cases}
    around = (case for block in sorted(_tile_sizes(work)) for case in work.exercise.straddle(block))
    more = {label(case): case for case in around if label(case) not in labels}
    return _run(work, tuple(more.values()), poisons=False) if more else []


def compiler(work: Work) -> list[Finding]:
    """Compile every launch for GPUs of several generations: the interpreter accepts much that a compiler refuses."""
    limits = sandbox.Limits(cpu_seconds=30, wall_seconds=40)
    arguments = [case.arguments for case in work.cases]
    outcome = sandbox.run(work.bundle, arguments, mode="compile", targets=work.exercise.targets, limits=limits)
    failure = outcome.failure
    if failure is not None and failure.kind == "does_not_compile":
        case = work.cases[failure.case].label if 0 <= failure.case < len(work.cases) else None
        return [_refusal(failure, work.bundle, case)]
    if failure is not None:
        reason = f"{failure_finding(failure, work.bundle, None).message}, while its kernels were being compiled"
        work.skipped.append(Skipped("compiler", reason))
    elif outcome.undecided is not None:
        work.skipped.append(Skipped("compiler", f"the launcher needs computed results to go on ({outcome.undecided})"))
    return []


def use_of_memory(work: Work) -> list[Finding]:
    """Judge what the kernels did to memory, and whether kernels did the work at all."""
    return _first(work, _memory_of_case)


def values(work: Work) -> list[Finding]:
    """Compare the results with the reference, computed here on inputs that the answer never touched.

    A case of one or two elements shows no pattern, so the smallest of those is reported whose difference has the shape that
    is recognised most often. That all elements are the same explains something only if it is so in every case that has three
    or more and expects different ones. Infinities and NaN among the inputs are looked at once ordinary numbers are right.
    """
    found = list(_in_order(work, _values_of_case))
    found = [finding for finding in found if finding.kind != "no_verdict"] or found[:1]  # what is surely wrong comes first
    found = [finding for finding in found if finding.evidence.get("ordinary", False)] or found
    shapes = Counter(finding.kind for finding in found if finding.kind != "mismatch")
    if any(finding.kind != "constant" and finding.evidence.get("varied", False) for finding in found):
        del shapes["constant"]
    kind = shapes.most_common(1)[0][0] if shapes else "mismatch"
    return [finding for finding in found if finding.kind == kind][:1]


def traffic(work: Work) -> list[Finding]:
    """Count how often the inputs were read, if the exercise sets a limit."""
    return _first(work, _traffic_of_case)


def gpu(work: Work) -> list[Finding]:
    """Run the answer on this machine's GPU, if it has one, and compare again."""
    if device().mode != "gpu":
        work.skipped.append(Skipped("gpu", "this machine has no GPU in use"))
        return []
    limits = sandbox.Limits(cpu_seconds=60, wall_seconds=90, memory_bytes=None)
    outcome = sandbox.run(work.bundle, [case.arguments for case in work.cases], mode="gpu", limits=limits)
    if outcome.failure is not None:
        number = outcome.failure.case
        failed = failure_finding(outcome.failure, work.bundle, work.cases[number].label if number >= 0 else None, limits)
        return [replace(failed, message=f"on the GPU, {failed.message}")]
    for case, call in zip(work.cases, outcome.calls, strict=True):
        if finding := _returned(work, case, call) or _difference(work, case, call):
            return [replace(finding, case=case.label, message=f"on the GPU, {finding.message}")]
    return []


STAGES: tuple[tuple[str, Stage], ...] = (
    ("interpreter", interpret),
    ("compiler", compiler),
    ("memory", use_of_memory),
    ("values", values),
    ("traffic", traffic),
    ("gpu", gpu),
)
"""The flow of a check, in order.

The compiler comes before the judges: what it refuses has no meaning that could be judged, whatever the interpreter made of it.
"""


def label(params: Params) -> str:
    """A case's name in reports: ``label({"n": 129})`` is ``"n=129"``."""
    return ", ".join(f"{name}={value}" for name, value in params.items())


# --- interpreter --------------------------------------------------------------------------------------------------


def _run(work: Work, params: tuple[Params, ...], poisons: bool = True) -> list[Finding]:
    """Run these cases; those around the block size with one poison only, as the smaller ones have partial tiles as well."""
    cases = [_case(work, p) for p in params]
    outcome = sandbox.run(work.bundle, [case.arguments for case in cases], poisons=poisons)
    for number, case in enumerate(cases):
        calls = tuple(call for call in outcome.calls if call.case == number)
        work.cases.append(replace(case, calls=calls))
    work.printed = work.printed or outcome.printed
    if outcome.failure is None:
        return []
    # What the finished cases show says more than that the time was up.
    if outcome.failure.kind == "timeout" and (shown := use_of_memory(work)):
        return shown
    failed = cases[outcome.failure.case].label if 0 <= outcome.failure.case < len(cases) else None
    return [failure_finding(outcome.failure, work.bundle, failed)]


def _case(work: Work, params: Params) -> CaseRun:
    name = label(params)
    generator = torch.Generator().manual_seed(work.seed ^ zlib.crc32(name.encode()))
    arguments = work.exercise.make_inputs(generator, **params)
    return CaseRun(name, arguments, work.exercise.reference(*arguments))


def _tile_sizes(work: Work) -> set[int]:
    """The lengths beyond 1 of the tiles that the answer loads and stores, along any axis: those of every case, and the longest.

    An answer that fits its tile to the data has another length for each case, and straddling them all would only cost time.
    """
    shapes = ({e.shape for e in call.trace.events} for case in work.cases for call in case.calls[:1])
    sizes = [{size for shape in of_case for size in shape if size > 1} for of_case in shapes if of_case]
    return set.intersection(*sizes) | {max(set.union(*sizes))} if any(sizes) else set()


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


# --- memory -------------------------------------------------------------------------------------------------------

ALLOCATES = frozenset(
    "empty empty_like empty_strided empty_permuted new_empty new_empty_strided zeros ones full arange zeros_like ones_like "
    "full_like new_zeros new_ones new_full zero_ fill_".split()
)
COPIES = frozenset("clone copy_ _to_copy contiguous constant_pad_nd".split())
VALUES = frozenset({"_local_scalar_dense"})


def _memory_of_case(work: Work, case: CaseRun) -> Finding | None:
    if case.label not in work.memory_findings:
        work.memory_findings[case.label] = _judge_memory(work, case)
    return work.memory_findings[case.label]


def _judge_memory(work: Work, case: CaseRun) -> Finding | None:
    call = case.calls[0]
    empty = case.want.numel() == 0  # then there is nothing to launch a kernel for
    finding = (None if empty else _launched(call)) or memory.stray_access(call.trace) or memory.race(call.trace)
    finding = finding or memory.read_back(call.trace)
    # Every call must return a tensor of the right kind: an answer that keeps state may do so at first and not again.
    finding = finding or next(filter(None, (_returned(work, case, one) for one in case.calls)), None)
    finding = finding or (None if empty else _by_torch(work.exercise, call))
    if finding or call.result is None or call.result_view is None:
        return finding
    inputs = () if work.exercise.in_place else work.exercise.parameters
    finding = memory.unwritten(call.trace, call.result_view, inputs)
    if finding is None:
        results = [c.result for c in case.calls if c.result is not None]
        finding = memory.undefined_lanes(call.trace, results)
    if finding is None and inputs:
        before = [a if isinstance(a, torch.Tensor) else None for a in case.arguments]
        finding = memory.input_changed(call.trace, before, call.after, inputs)
    return finding


def _launched(call: Call) -> Finding | None:
    if call.trace.launches:
        return None
    return Finding(
        "no_kernel",
        "the answer launched no Triton kernel",
        details=("The point is to write the kernel: launch it with `kernel[grid](…)`, and return what it wrote.",),
    )


def _returned(work: Work, case: CaseRun, call: Call) -> Finding | None:
    """Is what came back a tensor of the right shape, dtype and layout?"""
    want = case.want
    if call.result is None or call.result_view is None:
        return Finding("wrong_type", f"the answer returned {call.returned}; a torch tensor was expected")
    if call.result.shape != want.shape:
        return Finding("wrong_shape", f"the result has shape {tuple(call.result.shape)}; expected was {tuple(want.shape)}")
    if call.result.dtype != want.dtype:
        return Finding("wrong_dtype", f"the result is of {call.result.dtype}; expected was {want.dtype}")
    if work.exercise.contiguous and not memory.is_contiguous(call.result_view.shape, call.result_view.stride):
        return Finding(
            "wrong_layout", f"the result of shape {tuple(want.shape)} has strides {call.result_view.stride}: not contiguous"
        )
    return None


def _by_torch(exercise: Exercise, call: Call) -> Finding | None:
    allowed = ALLOCATES | (COPIES if exercise.torch_may == "copy" else frozenset())
    used = sorted(set(call.ops) - allowed)
    if not used:
        return None
    pattern = "value" if set(used) <= VALUES else "copy" if set(used) <= COPIES else ""
    return Finding(
        "torch_compute",
        f"outside its kernels, the answer used {', '.join(dict.fromkeys(map(advice.as_written, used)))}",
        pattern=pattern,
        details=(
            "Here the kernel does the work; the launcher may only allocate tensors and make views of them"
            + (", or copy them." if exercise.torch_may == "copy" else "."),
        ),
    )


# --- compiler -----------------------------------------------------------------------------------------------------


def _refusal(failure: Failure, bundle: Bundle, case: str | None) -> Finding:
    told = failure.details
    line = told.get("line")
    reason, *more = failure.message.splitlines() or [""]
    advised = advice.for_message(failure.message)
    return Finding(
        "does_not_compile",
        f"for {advice.gpu(told['target'])}, Triton says: {reason}",
        case=case,
        kernel=told.get("kernel"),
        source=bundle.line(line) if line else None,
        details=() if advised else tuple(more[:4]),
        advice=advised,
    )


# --- values -------------------------------------------------------------------------------------------------------


NEAR = 0.05
"""The largest relative difference of a result that is nearly right."""


def _values_of_case(work: Work, case: CaseRun) -> Finding | None:
    found = ((call, _difference(work, case, call)) for call in case.calls)
    call, finding = next(((call, finding) for call, finding in found if finding), (None, None))
    if call is not None and call.notes and any(_has_nan(argument) for argument in case.arguments):
        reason = f"{call.notes[0]}: the interpreter skips it there, and a GPU may not"
        return Finding("no_verdict", f"this case cannot be judged on the CPU, since {reason}")
    return finding


def _has_nan(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and bool(value.isnan().any())


def _difference(work: Work, case: CaseRun, call: Call) -> Finding | None:
    """How a result differs from the reference, if it does."""
    assert call.result is not None  # `_returned` has seen to that
    want = case.want
    mismatch = compare(call.result, want, work.exercise.tolerance)
    if mismatch is None:
        return None
    mine = (e for e in call.trace.events if call.result_view and call.trace.view(e).storage == call.result_view.storage)
    write = next((event for event in mine if event.kind != "load"), None)
    cause = memory.read_before_written(call.trace) if mismatch.kind == "nan" else None
    near = mismatch.kind == "mismatch" and bool(((call.result - want).abs() <= NEAR * want.abs()).all())
    return Finding(
        mismatch.kind,
        mismatch.message,
        pattern="fresh" if cause else "near" if near else "",
        kernel=call.trace.launches[write.launch].kernel if write else None,
        source=write.source if write else None,
        count=mismatch.count,
        details=(
            *((cause,) if cause else ()),
            *(
                f"element {index[0] if len(index) == 1 else index}: got {got:.7g}, expected {wanted:.7g}"
                for index, got, wanted in mismatch.examples
            ),
        ),
        evidence={
            "wrong": mismatch.wrong,
            "elements": mismatch.total,
            "varied": mismatch.total > 2 and not bool((want == want.flatten()[0]).all()),
            "ordinary": all(bool(a.isfinite().all()) for a in case.arguments if isinstance(a, torch.Tensor)),
        },
    )


# --- traffic ------------------------------------------------------------------------------------------------------


def _traffic_of_case(work: Work, case: CaseRun) -> Finding | None:
    limit = work.exercise.max_reads
    return None if limit is None else memory.too_many_reads(case.calls[0].trace, limit)


# --- all of them --------------------------------------------------------------------------------------------------

Judge = Callable[[Work, CaseRun], Finding | None]


def _first(work: Work, judge: Judge) -> list[Finding]:
    """The finding of the smallest case that has one."""
    return list(itertools.islice(_in_order(work, judge), 1))


def _in_order(work: Work, judge: Judge) -> Iterator[Finding]:
    """The findings of all cases, the smallest case first; one without any element shows least, and comes last."""
    for case in sorted((case for case in work.cases if case.calls), key=lambda case: (case.size == 0, case.size)):
        if finding := judge(work, case):
            yield replace(finding, case=case.label, given=_layout(case, work.exercise))


def _layout(case: CaseRun, exercise: Exercise) -> str:
    """In words, what a case's label does not say: the strides of arguments that are not contiguous."""
    odd = (
        f"`{name}` has the strides {tuple(value.stride())}"
        for name, value in zip(exercise.parameters, case.arguments, strict=True)
        if isinstance(value, torch.Tensor) and not value.is_contiguous()
    )
    return ", ".join(odd)
