"""The stages of a check. Each is one function with one signature: `stage(work) -> list[Finding]`.

A stage reads what earlier stages left in `Work`, adds its own, and returns what it found; an empty list lets the next
one run. `STAGES` is the flow. A stage that needs what this machine lacks notes a `Skipped` in `work.skipped`.
"""

from __future__ import annotations

import itertools
import math
import random
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from course_lib.catalog.model import Exercise, Params, Tolerance
from course_lib.checking import advice, explain, memory, sandbox
from course_lib.checking.bundle import Bundle
from course_lib.checking.compare import BY_PLACES, PATTERN, compare
from course_lib.checking.events import Event
from course_lib.checking.findings import Finding, Skipped, SourceLine
from course_lib.checking.inside import POISONS
from course_lib.checking.outcome import Call, Failure, Outcome
from course_lib.checking.reading import Text
from course_lib.device import device


@dataclass(frozen=True, eq=False)
class CaseRun:
    """One case: its parameters, its arguments (which the answer never saw, only copies), and the calls made on them."""

    label: str
    params: Params
    arguments: tuple[Any, ...]
    want: torch.Tensor
    """What the reference makes of the arguments."""
    calls: tuple[Call, ...] = ()
    overwritten: bool = False
    """Whether the result no longer held, after later calls, what it had held at first."""

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
    programs: dict[str, list[memory.Programs]] = field(default_factory=dict)
    """What the programs of a case's launches had to do, by the case's label."""


Stage = Callable[[Work], list[Finding]]
LIMITS = sandbox.Limits()


def interpret(work: Work) -> list[Finding]:
    """Run the answer on every case in the interpreter, the smaller half first, then on those around its block size.

    These may show it to use another block size for longer data, and call for further cases. What smaller cases show, larger
    ones need not: they would take long for an answer that starts far too many programs.
    """
    drawn = work.exercise.drawn(random.Random(work.seed))
    cases = [_case(work, params) for params in (*work.exercise.cases, *drawn)]
    rising = sorted(cases, key=lambda case: case.size)
    middle = rising[len(cases) // 2 :]
    small = [case for case in cases if case.size and case not in middle]
    again = [_case(work, case.params, AGAIN) for case in middle[:2]]
    if findings := _run(work, small, variations=True):
        return findings
    if use_of_memory(work):
        return []
    if findings := _run(work, [*(case for case in cases if case not in small), *again], variations=True):
        return findings
    blocks = _common_tiles(work.cases) | _longest_tile(work.cases)
    for _ in range(MOST_STRADDLING):
        if use_of_memory(work):
            return []  # the small cases show it already: no need to go on to larger ones
        labels = {case.label for case in work.cases}
        around = (case for block in sorted(blocks) for case in work.exercise.straddle(block))
        more = {label(case): case for case in around if label(case) not in labels}
        if not more:
            break
        seen = len(work.cases)
        if findings := _run(work, [_case(work, params) for params in more.values()]):
            return findings
        blocks = _common_tiles(work.cases[seen:]) - blocks
    return []


def compiler(work: Work) -> list[Finding]:
    """Compile every launch for GPUs of several generations: the interpreter accepts much that a compiler refuses.

    A kernel that ran in the interpreter and was not compiled is no pass. Of an answer whose use of memory is known to be wrong,
    one case is compiled for one GPU: all there is to learn is whether it means anything at all.
    """
    # Memory for several compilations at once.
    limits = sandbox.Limits(cpu_seconds=100, wall_seconds=100, total_seconds=100, memory_bytes=2**32)
    cases, targets = work.cases, work.exercise.targets
    if wrong := use_of_memory(work):
        cases, targets = [case for case in cases if case.label == wrong[0].case], targets[-1:]
    arguments = [case.arguments for case in cases]
    outcome = sandbox.run(work.bundle, arguments, mode="compile", targets=targets, limits=limits)
    failure = outcome.failure
    case = cases[failure.case].label if failure and 0 <= failure.case < len(cases) else None
    if failure and failure.kind == "does_not_compile":
        return [_refusal(failure, work.bundle, case)]
    if wrong:
        return wrong
    if outcome.unavailable is not None:
        work.skipped.append(Skipped("compiler", outcome.unavailable))
        return []
    if failure is None:
        why = _not_compiled(work, outcome)
        return (values(work) or [why]) if why else []
    found = failure_finding(failure, work.bundle, case, limits)
    kind = "no_verdict" if found.kind == "timeout" else found.kind
    return [replace(found, kind=kind, message=f"{found.message}, while its kernels were being compiled", details=())]


def use_of_memory(work: Work) -> list[Finding]:
    """Judge what the kernels did to memory, and whether kernels did the work at all."""
    return _first(work, _memory_of_case) or _first(work, _idle_judge(work))


def values(work: Work) -> list[Finding]:
    """Compare the results with the reference, computed here on inputs that the answer never touched.

    A case of a few elements shows no pattern, so the smallest of those is reported whose difference has the shape that is
    recognised most often; but places that few of the larger cases show are chance. That all elements are the same
    explains something only if it is so in every case that has three or more and expects different ones. Infinities and NaN
    among the inputs are looked at once ordinary numbers are right.
    """
    found = list(_in_order(work, _values_of_case))
    found = [finding for finding in found if finding.kind != "no_verdict"] or found[:1]  # what is surely wrong comes first
    found = [finding for finding in found if finding.evidence.get("ordinary", False)] or found
    shapes = Counter(finding.kind for finding in found if finding.kind != "mismatch")
    if any(finding.kind != "constant" and finding.evidence.get("varied", False) for finding in found):
        del shapes["constant"]
    shapeless = sum(finding.kind == "mismatch" and finding.evidence.get("elements", 0) >= PATTERN for finding in found)
    kind, often = shapes.most_common(1)[0] if shapes else ("mismatch", 0)
    if kind in BY_PLACES and shapeless > CHANCE * often:
        kind = "mismatch"
    return [finding for finding in found if finding.kind == kind][:1]


def traffic(work: Work) -> list[Finding]:
    """Count how often the inputs were read, if the exercise sets a limit."""
    return _first(work, _traffic_of_case)


def gpu(work: Work) -> list[Finding]:
    """Run the answer on this machine's GPU, if it has one, and compare again."""
    if device().mode != "gpu":
        work.skipped.append(Skipped("gpu", "this machine has no GPU in use"))
        return []
    limits = sandbox.Limits(cpu_seconds=60, wall_seconds=90, total_seconds=180, memory_bytes=None)
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


def _run(work: Work, cases: list[CaseRun], variations: bool = False) -> list[Finding]:
    """Run these cases, and see whether earlier results live through later calls.

    With `variations`, each is run in all the ways in which a GPU might. The cases around the block size need none of that, as
    the smaller ones have partial tiles as well.
    """
    outcome = sandbox.run(work.bundle, [case.arguments for case in cases], variations=variations)
    for number, case in enumerate(cases):
        calls = tuple(call for call in outcome.calls if call.case == number)
        work.cases.append(replace(case, calls=calls, overwritten=number in outcome.overwritten))
    work.printed = work.printed or outcome.printed
    if outcome.failure is None:
        return []
    # What the finished cases show says more than that the time was up, or that no elements need care.
    if outcome.failure.kind in ("timeout", "crash") and (shown := use_of_memory(work)):
        return shown
    failed = cases[outcome.failure.case].label if 0 <= outcome.failure.case < len(cases) else None
    return [failure_finding(outcome.failure, work.bundle, failed, asked=work.exercise.signature)]


AGAIN = ", again with other values"
"""What follows the label of a case that is run a second time in the same process, since something may stay from the first."""
MOST_STRADDLING = 3
"""How often at most cases around newly seen block sizes are added."""


def _case(work: Work, params: Params, suffix: str = "") -> CaseRun:
    name = label(params) + suffix
    generator = torch.Generator().manual_seed(work.seed ^ zlib.crc32(name.encode()))
    arguments = work.exercise.make_inputs(generator, **params)
    return CaseRun(name, params, arguments, work.exercise.reference(*arguments))


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
    return {max(sizes)} if (sizes := set().union(*map(_tiles, cases))) else set()


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


# --- memory -------------------------------------------------------------------------------------------------------

ALLOCATES = frozenset(
    "empty empty_like empty_strided empty_permuted new_empty new_empty_strided zeros ones full zeros_like ones_like "
    "full_like new_zeros new_ones new_full zero_ fill_".split()
)
COPIES = frozenset("clone copy_ _to_copy contiguous constant_pad_nd".split())
VALUES = frozenset({"_local_scalar_dense"})


def _memory_of_case(work: Work, case: CaseRun) -> Finding | None:
    if case.label not in work.memory_findings:
        work.memory_findings[case.label] = _judge_memory(work, case)
    return work.memory_findings[case.label]


def _judge_memory(work: Work, case: CaseRun) -> Finding | None:
    # Every call must return a tensor of the right kind: an answer that keeps state may do so at first and not again.
    returned = next(filter(None, (_returned(work, case, call) for call in case.calls)), None)
    different = (call for call in case.calls if call.variation not in POISONS[1:])  # these differ only in what was undefined
    judged = (_in_words(call, _judge_call(work, case, call, returned)) for call in different)
    finding = next(filter(None, judged), None) or returned
    if finding:
        return finding
    poisoned = [call.result for call in case.calls if call.variation in POISONS and call.result is not None]
    return memory.undefined_lanes(case.calls[0].trace, poisoned) or _overwritten(case) or _also(work.exercise, case)


def _idle_judge(work: Work) -> Judge:
    """Judges whether nearly all programs of a case had nothing to do, as when each element was given one.

    A kernel with a loop may share out blocks among however many programs there are.
    """
    text = Text(work.bundle.source)
    for case in work.cases:
        if case.calls and case.label not in work.programs:
            work.programs[case.label] = memory.programs(case.calls[0].trace)
    launches: dict[str, list[memory.Programs]] = {}
    for launch in itertools.chain.from_iterable(work.programs.values()):
        launches.setdefault(launch.kernel, []).append(launch)
    wasteful = {kernel for kernel, mine in launches.items() if memory.one_for_each_element(mine) and not text.has_loop(kernel)}

    def judge(work: Work, case: CaseRun) -> Finding | None:
        idle = (one for one in work.programs[case.label] if one.kernel in wasteful and memory.mostly_idle(one))
        if (launch := next(idle, None)) is None:
            return None
        return Finding(
            "idle_programs",
            f"{launch.started} programs were started where {launch.busy} {'is' if launch.busy == 1 else 'are'} enough",
            kernel=launch.kernel,
            details=("The others had no lane that was on. They change nothing, and cost time.",),
        )

    return judge


def _judge_call(work: Work, case: CaseRun, call: Call, returned: Finding | None) -> Finding | None:
    """What one call did to memory; `returned` is what is wrong with the kind of the result, which comes before its content."""
    empty = case.want.numel() == 0  # then there is nothing to launch a kernel for
    trace = call.trace
    finding = (None if empty else _launched(call)) or memory.stray_access(trace) or memory.race(trace)
    finding = finding or memory.read_back(trace) or (memory.write_twice(trace, call.twice[0]) if call.twice else None)
    finding = finding or returned or (None if empty else _by_torch(work.exercise, call)) or _outside(call)
    if finding or call.source_view is None:
        return finding
    inputs = () if work.exercise.in_place else work.exercise.parameters
    if inputs:
        before = [a if isinstance(a, torch.Tensor) else None for a in case.arguments]
        finding = memory.input_changed(trace, before, call.after, inputs)
    return finding or memory.unwritten(trace, call.source_view, inputs)


def _outside(call: Call) -> Finding | None:
    """Did numbers come from somewhere else than from torch and the kernels?"""
    details = ("The launcher may allocate and launch. The numbers are the kernel's work, not NumPy's or a Python loop's.",)
    if call.threads > 1:
        return Finding("computed_outside", "the launcher started threads of its own", details=details)
    if not call.outside:
        return None
    seen = call.outside[0]
    return Finding(
        "computed_outside", f"{_named(seen['name'])} was given values by neither torch nor a kernel", details=details
    )


def _named(tensor: str) -> str:
    return f"`{tensor}`" if tensor.isidentifier() else tensor


def _overwritten(case: CaseRun) -> Finding | None:
    if not case.overwritten:
        return None
    return Finding(
        "overwritten",
        "the result had changed once the answer had been called again",
        details=("Every call returns a tensor of its own. Allocate it inside the function, and keep nothing between calls.",),
    )


def _also(exercise: Exercise, case: CaseRun) -> Finding | None:
    message = exercise.also(case.calls[0].trace)
    return Finding("not_as_asked", message) if message else None


def _in_words(call: Call, finding: Finding | None) -> Finding | None:
    """A finding, with the way in which the call was run, if it was not the first one."""
    if finding is None or call.variation == "nan":
        return finding
    how = (ORDERS | OTHER_WAYS).get(call.variation, "with another configuration of the autotuned kernel")
    return replace(finding, details=(f"This was seen {how}.", *finding.details))


ORDERS = {"backward": "with the programs run from the last to the first", "shuffled": "with the programs run in another order"}
OTHER_WAYS = {
    "measured": "after the kernel had been run for autotuning, on the same tensors; `reset_to_zero` and `restore_value` of "
    "`triton.autotune` undo what such runs leave behind"
}


KERNEL_ALONE = "`kernel[grid]` starts nothing yet: `kernel[grid](x, out, n)` does, with the arguments in round brackets."


def _launched(call: Call) -> Finding | None:
    if call.trace.launches:
        return None
    kernel_alone = call.returned.startswith("a kernel")
    return Finding(
        "no_kernel",
        "the answer launched no Triton kernel",
        details=("The point is to write the kernel: launch it with `kernel[grid](…)`, and return what it wrote.",),
        advice=KERNEL_ALONE if kernel_alone else None,
    )


def _returned(work: Work, case: CaseRun, call: Call) -> Finding | None:
    """Is what came back a tensor of the right shape, dtype and layout?"""
    want = case.want
    if call.result is None or call.result_view is None:
        kept = call.returned.startswith("None") and Text(work.bundle.source).takes_a_launch_for_a_value()
        returned = "None, as every launch of a kernel does" if kept else call.returned
        advised = (
            "A launch returns nothing: `kernel[grid](x, out)` on a line of its own, and then `return out`." if kept else None
        )
        return Finding("wrong_type", f"the answer returned {returned}; a torch tensor was expected", advice=advised)
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
    source = bundle.line(told["line"]) if told["line"] > 0 else None
    reason, *more = failure.message.splitlines() or [""]
    advised = advice.for_message(failure.message)
    return Finding(
        "does_not_compile",
        f"for {advice.gpu(told['target'])}, {'Triton says: ' if told['by_triton'] else ''}{reason}",
        case=case,
        kernel=told["kernel"],
        source=SourceLine(*told["elsewhere"]) if "elsewhere" in told else source,
        details=() if advised else tuple(more[:4]),
        advice=advised,
    )


def _not_compiled(work: Work, outcome: Outcome) -> Finding | None:
    """A kernel that ran in the interpreter, and not where launches are compiled.

    A launcher may choose its kernels by the GPU, so each must be compiled for one target at least; but where it stopped over an
    error, for that one.
    """
    ran = [{launch.kernel for call in case.calls[:1] for launch in call.trace.launches} for case in work.cases]
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
        case=work.cases[number].label,
        details=("Which kernels a launcher launches must not depend on what they compute.",),
    )


# --- values -------------------------------------------------------------------------------------------------------


CHANCE = 3
"""How many times as many cases without a shape make it chance that some are wrong in places that look like one."""


def _values_of_case(work: Work, case: CaseRun) -> Finding | None:
    found = ((call, _in_words(call, _difference(work, case, call))) for call in case.calls)
    call, finding = next(((call, finding) for call, finding in found if finding), (None, None))
    if call is not None and finding is not None and call.variation in ORDERS:
        finding = replace(finding, kind="program_order", pattern="")
    if finding is not None and case.label.endswith(AGAIN):
        kept = "The same call with other values came before. Does something stay from one call to the next?"
        finding = replace(finding, details=(kept, *finding.details))
    if call is not None and call.notes and any(_has_nan(argument) for argument in case.arguments):
        reason = f"{call.notes[0]}: the interpreter skips it there, and a GPU may not"
        return Finding("no_verdict", f"this case cannot be judged on the CPU, since {reason}")
    return finding or memory.behind_a_lock(case.calls[0].trace)


def _has_nan(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and bool(value.isnan().any())


def _difference(work: Work, case: CaseRun, call: Call) -> Finding | None:
    """How a result differs from the reference, if it does."""
    assert call.result is not None  # `_returned` has seen to that
    want = case.want
    mismatch = compare(call.result, want, work.exercise.tolerance)
    if mismatch is None:
        return None
    if mismatch.kind in ("reversed", "transposed") and (name := _as_it_was(work.exercise, case, call.result)):
        mismatch = replace(mismatch, kind="unchanged", message=f"the result is `{name}`, element for element")
    mine = (e for e in call.trace.events if call.result_view and call.trace.view(e).storage == call.result_view.storage)
    write = next((event for event in mine if event.kind != "load"), None)
    unwritten = memory.read_before_written(call.trace) if mismatch.kind == "nan" else None
    near = mismatch.kind == "mismatch" and mismatch.near
    shown = _inputs_shown(work.exercise, case)
    return Finding(
        mismatch.kind,
        mismatch.message,
        pattern="fresh" if unwritten else "near" if near else "",
        kernel=call.trace.launches[write.launch].kernel if write else None,
        source=write.source if write else None,
        count=mismatch.count,
        details=(
            *((_uninitialized(*unwritten),) if unwritten else ()),
            *(
                f"element {index[0] if len(index) == 1 else index}: got {got:.7g}, expected {wanted:.7g}{shown(index)}"
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


def _inputs_shown(exercise: Exercise, case: CaseRun) -> Callable[[tuple[int, ...]], str]:
    """What to add to a wrong element: where each depends on the arguments' elements at its place alone, these; else nothing."""
    if not _is_elementwise(exercise, case):
        return lambda index: ""

    def shown(index: tuple[int, ...]) -> str:
        place = ", ".join(map(str, index))
        values = [
            f"{name}[{place}] = {float(value[index]):.7g}" if isinstance(value, torch.Tensor) else f"{name} = {value:.7g}"
            for name, value in zip(exercise.parameters, case.arguments, strict=True)
        ]
        return f", with {', '.join(values)}"

    return shown


def _is_elementwise(exercise: Exercise, case: CaseRun) -> bool:
    """Whether moving all arguments on by one place moves the expected result on by one place, and changes nothing else."""
    tensors = [value for value in case.arguments if isinstance(value, torch.Tensor)]
    numbers = all(isinstance(value, (int, float, torch.Tensor)) for value in case.arguments)
    if not tensors or not numbers or any(value.shape != case.want.shape for value in tensors):
        return False
    moved = [value.roll(1) if isinstance(value, torch.Tensor) else value for value in case.arguments]
    return compare(exercise.reference(*moved), case.want.roll(1), Tolerance(rtol=1e-6, atol=1e-12)) is None


def _as_it_was(exercise: Exercise, case: CaseRun, result: torch.Tensor) -> str | None:
    """The name of the argument that the result is equal to."""
    named = zip(exercise.parameters, case.arguments, strict=True)
    alike = ((name, one) for name, one in named if isinstance(one, torch.Tensor) and one.shape == result.shape)
    return next((name for name, one in alike if one.dtype == result.dtype and compare(result, one, Tolerance()) is None), None)


def _uninitialized(event: Event, missing: int) -> str:
    return (
        f"Line {event.source.line}, `{event.source.text}`, reads {missing} element{'s' if missing > 1 else ''} that nothing "
        "had been written to. Fresh memory may hold anything; the check fills it with NaN."
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
