"""The stages that judge what the kernels did to memory, whether kernels did the work at all, and how much they read."""

from __future__ import annotations

import torch

from course_lib.catalog.model import Exercise
from course_lib.checking import advice, memory
from course_lib.checking.findings import Finding
from course_lib.checking.inside import POISONS
from course_lib.checking.outcome import Call
from course_lib.checking.reading import Text
from course_lib.checking.stages.idle import idle_programs
from course_lib.checking.stages.results import in_words, overwritten, returned_as_asked
from course_lib.checking.stages.work import CaseRun, Work, first

ALLOCATES = frozenset(
    "empty empty_like empty_strided empty_permuted new_empty new_empty_strided zeros ones full zeros_like ones_like "
    "full_like new_zeros new_ones new_full zero_ fill_".split()
)
COPIES = frozenset("clone copy_ _to_copy contiguous constant_pad_nd".split())
VALUES = frozenset({"_local_scalar_dense"})


def use_of_memory(work: Work) -> list[Finding]:
    """Judge what the kernels did to memory, and whether kernels did the work at all."""
    return first(work, _memory_of_case) or first(work, idle_programs(work))


def traffic(work: Work) -> list[Finding]:
    """Count how often the inputs were read, if the exercise sets a limit."""
    return first(work, _traffic_of_case)


def _memory_of_case(work: Work, case: CaseRun) -> Finding | None:
    if case.label not in work.memory_findings:
        work.memory_findings[case.label] = _judge_memory(work, case)
    return work.memory_findings[case.label]


def _judge_memory(work: Work, case: CaseRun) -> Finding | None:
    # Every call must return a tensor of the right kind: an answer that keeps state may do so at first and not again.
    returned = next(filter(None, (returned_as_asked(work, case, call) for call in case.calls)), None)
    different = (call for call in case.calls if call.variation not in POISONS[1:])  # these differ only in what was undefined
    judged = (in_words(call, _judge_call(work, case, call, returned)) for call in different)
    finding = next(filter(None, judged), None) or returned
    if finding:
        return finding
    poisoned = [call.result for call in case.calls if call.variation in POISONS and call.result is not None]
    first_call = case.calls[0]
    # What is kept from one call to the next makes results differ, too.
    kept = next(filter(None, map(_outside, case.calls)), None)
    undefined = memory.undefined_lanes(first_call.trace, poisoned, first_call.promises)
    return kept or undefined or overwritten(case) or _also(work.exercise, case)


def _judge_call(work: Work, case: CaseRun, call: Call, returned: Finding | None) -> Finding | None:
    """What one call did to memory; `returned` is what is wrong with the kind of the result, which comes before its content."""
    empty = _nothing_to_do(work.exercise, case)
    trace = call.trace
    finding = (None if empty else _launched(work, call)) or memory.stray_access(trace) or memory.race(trace)
    finding = finding or next((memory.false_promise(trace, broken) for broken in call.promises if broken.certain), None)
    finding = finding or memory.read_back(trace) or (memory.clash(trace, call.clashes[0]) if call.clashes else None)
    finding = finding or returned or (None if empty else _by_torch(work.exercise, call)) or _outside(call)
    if finding or call.result_view is None:
        return finding
    inputs = work.exercise.parameters
    before = [a if isinstance(a, torch.Tensor) else None for a in case.arguments]
    finding = memory.input_changed(trace, before, call.after, inputs, call.changed)
    result, source = call.result_view, call.source_view
    zeros = work.exercise.zeros_may_stay and result.argument is None and not result.fresh and source is None
    return finding or (None if zeros else memory.unwritten(trace, result, inputs, source)) or _unreachable(call)


def _unreachable(call: Call) -> Finding | None:
    """Was a kernel given a tensor that lies on the CPU, also on a machine with a GPU?"""
    seen = call.unreachable
    if seen is None:
        return None
    return Finding(
        "cpu_tensor",
        f"its argument `{seen.name}` was made without a device: so it is on the CPU, where a kernel on a GPU cannot reach it",
        kernel=call.trace.launches[seen.launch].kernel,
        source=seen.line,
        details=("Where there is no GPU, all tensors are on the CPU, and it makes no difference.",),
    )


def _nothing_to_do(exercise: Exercise, case: CaseRun) -> bool:
    """Whether there is nothing to launch a kernel for."""
    sizes = [argument.numel() for argument in case.arguments if isinstance(argument, torch.Tensor)]
    return case.want.numel() == 0 or (exercise.zeros_may_stay and not all(sizes))


def _outside(call: Call) -> Finding | None:
    """Did numbers come from somewhere else than from torch and the kernels?"""
    details: tuple[str, ...] = (
        "The launcher may allocate and launch. The numbers are the kernel's work, not NumPy's or a Python loop's.",
    )
    if "thread" in call.elsewhere:
        return Finding("computed_outside", "the launcher started threads of its own", details=details)
    if not call.outside:
        return None
    seen = call.outside[0]
    how = "was given values by neither torch nor a kernel"
    if seen["new"]:
        how = "holds numbers that were not made in this call, by torch or a kernel"
        details += ("Memory that is kept for the next call holds what was left there: write to it before you read it.",)
    return Finding("computed_outside", f"{_named(seen['name'])} {how}", details=details)


def _named(tensor: str) -> str:
    return f"`{tensor}`" if tensor.isidentifier() else tensor


def _also(exercise: Exercise, case: CaseRun) -> Finding | None:
    message = exercise.also(case.calls[0].trace)
    return Finding("not_as_asked", message) if message else None


KERNEL_ALONE = "`kernel[grid]` starts nothing yet: `kernel[grid](x, out, n)` does, with the arguments in round brackets."


def _launched(work: Work, call: Call) -> Finding | None:
    if call.trace.launches:
        return None
    kernel_alone = call.returned.startswith("a kernel") or Text(work.bundle.source).leaves_a_kernel_uncalled()
    return Finding(
        "no_kernel",
        "the answer launched no Triton kernel",
        details=("The point is to write the kernel: launch it with `kernel[grid](…)`, and return what it wrote.",),
        advice=KERNEL_ALONE if kernel_alone else None,
    )


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


def _traffic_of_case(work: Work, case: CaseRun) -> Finding | None:
    limit = work.exercise.max_reads
    return None if limit is None else memory.too_many_reads(case.calls[0].trace, limit)
