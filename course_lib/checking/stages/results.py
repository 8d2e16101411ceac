"""What can be said of the result of one call: whether it is of the right kind, and how it differs from what is right."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch

from course_lib.checking import advice, memory
from course_lib.checking.compare import compare
from course_lib.checking.events import Event
from course_lib.checking.findings import Finding
from course_lib.checking.outcome import Call
from course_lib.checking.plain_numbers import Numbers, as_numbers
from course_lib.checking.reading import Text
from course_lib.checking.stages.inputs import as_it_was, inputs_shown, spelled
from course_lib.checking.stages.work import CaseRun, Work

ORDERS = {"backward": "with the programs run from the last to the first", "shuffled": "with the programs run in another order"}
OTHER_WAYS = {
    "reordered": "with the elements in another order where the compiler may choose: after `tl.view`, and with `can_reorder`",
    "measured": "after the kernel had been run for autotuning, on the same tensors; `reset_to_zero` and `restore_value` of "
    "`triton.autotune` undo what such runs leave behind",
}


def returned_as_asked(work: Work, case: CaseRun, call: Call) -> Finding | None:
    """Is what came back of the right kind: a tensor of the right shape, dtype and layout, or so many numbers?"""
    want = case.want
    if case.form != "tensor":
        return _returned_numbers(case, call)
    if call.result is None or call.result_view is None:
        return _no_tensor(work, call)
    if call.result.shape != want.shape:
        return Finding("wrong_shape", f"the result has shape {tuple(call.result.shape)}; expected was {tuple(want.shape)}")
    if call.result.dtype != want.dtype:
        return Finding("wrong_dtype", f"the result is of {call.result.dtype}; expected was {want.dtype}")
    if work.exercise.contiguous and not memory.is_contiguous(call.result_view.shape, call.result_view.stride):
        return Finding(
            "wrong_layout", f"the result of shape {tuple(want.shape)} has strides {call.result_view.stride}: not contiguous"
        )
    return None


def _no_tensor(work: Work, call: Call) -> Finding:
    kept = call.returned.startswith("None") and Text(work.bundle.source).takes_a_launch_for_a_value()
    returned = "None, as every launch of a kernel does" if kept else call.returned
    advised = "A launch returns nothing: `kernel[grid](x, out)` on a line of its own, and then `return out`." if kept else None
    return Finding("wrong_type", f"the answer returned {returned}; a torch tensor was expected", advice=advised)


def numbers_of(call: Call) -> Numbers | None:
    """What came back as numbers; a tensor without axes is one number, one with one axis is a list."""
    return call.numbers or (None if call.result is None else as_numbers(call.result))


def _returned_numbers(case: CaseRun, call: Call) -> Finding | None:
    wanted = "a number" if case.form == "number" else "a list of numbers"
    got = numbers_of(call)
    if got is None:
        shape = "" if call.result is None else f" of shape {tuple(call.result.shape)}"
        message = f"the answer returned {call.returned}{shape}; {wanted} was expected"
        return Finding("wrong_type", message, advice=_of_a_thread(call.returned) if call.blocks else None)
    if got.form != case.form:
        returned = f"a list of {counted(got)}" if got.form == "list" else "a single number"
        return Finding("wrong_type", f"the answer returned {returned}; {wanted} was expected")
    if got.tensor.shape != case.want.shape:
        return Finding("wrong_shape", f"the result has {counted(got)}; expected were {len(case.want)}")
    return None


def _of_a_thread(returned: str) -> str | None:
    """Why threads may have returned what is no number."""
    if "generator" in returned:
        return "A function that waits (it has a `yield`) is called with `yield from`: `value = yield from sum_of_lanes(…)`."
    if "None" in returned:
        return "A thread whose kernel ends without `return` gives None. Let the kernel return its value, in every thread."
    return None


def counted(numbers: Numbers) -> str:
    """How many numbers, in words."""
    return f"{len(numbers.values)} number{'' if len(numbers.values) == 1 else 's'}"


def overwritten(case: CaseRun) -> Finding | None:
    if not case.overwritten:
        return None
    return Finding(
        "overwritten",
        "the result had changed once the answer had been called again",
        details=("Every call returns a tensor of its own. Allocate it inside the function, and keep nothing between calls.",),
    )


def difference(work: Work, case: CaseRun, call: Call) -> Finding | None:
    """How a result differs from the reference, if it does."""
    want = case.want
    numbers = numbers_of(call) if case.form != "tensor" else None
    got = numbers.tensor if numbers else call.result
    assert got is not None  # `returned_as_asked` has seen to that
    mismatch = compare(got, want, work.exercise.tolerance)
    if mismatch is None:
        return None
    if mismatch.kind in ("reversed", "transposed") and (name := as_it_was(work.exercise, case, got)):
        mismatch = replace(mismatch, kind="unchanged", message=f"the result is `{name}`, element for element")
    write = _write_of(call, mismatch.examples[0][0] if mismatch.examples else None)
    unwritten = memory.read_before_written(call.trace) if mismatch.kind == "nan" else None
    how = "near" if mismatch.near else "part" if mismatch.count < mismatch.total else ""
    shown = inputs_shown(work.exercise, case)
    return Finding(
        mismatch.kind,
        mismatch.message if case.form != "number" else "the number is wrong",
        pattern="fresh" if unwritten else how if mismatch.kind == "mismatch" else "",
        kernel=call.trace.launches[write.launch].kernel if write else None,
        source=write.source if write else None,
        count=mismatch.count,
        details=(_uninitialized(*unwritten),) if unwritten else (),
        values=tuple(
            f"{_place(case, index)}got {spelled(one)}, expected {spelled(wanted)}{shown(index)}"
            for index, one, wanted in mismatch.examples
        ),
        evidence={
            "wrong": mismatch.wrong,
            "elements": mismatch.total,
            "varied": mismatch.total > 2 and not bool((want == want.flatten()[0]).all()),
            "ordinary": case.params.get("values", "normal") == "normal",
            "finite": all(map(_is_finite, case.arguments)),
        },
    )


def _write_of(call: Call, index: tuple[int, ...] | None) -> Event | None:
    """The last access by which a kernel wrote to this element of the result, else the first by which it wrote to any."""
    result = call.result_view
    if result is None:
        return None
    writes = (event for event in call.trace.events if event.kind != "load" and len(event.elements))
    mine = [event for event in writes if call.trace.view(event).storage == result.storage]
    first = mine[0] if mine else None
    if index is None:
        return first
    place = result.offset + sum(step * at for step, at in zip(result.stride, index, strict=True))
    return next((event for event in reversed(mine) if (call.trace.view(event).offset + event.elements == place).any()), first)


def _place(case: CaseRun, index: tuple[int, ...]) -> str:
    return "" if case.form == "number" else f"element {index[0] if len(index) == 1 else index}: "


def _is_finite(argument: Any) -> bool:
    if isinstance(argument, (tuple, list)):
        return all(map(_is_finite, argument))
    return bool(argument.isfinite().all()) if isinstance(argument, torch.Tensor) else argument not in (math.inf, -math.inf)


def _uninitialized(event: Event, missing: int) -> str:
    return (
        f"Line {event.source.line}, `{event.source.text}`, reads {missing} element{'s' if missing > 1 else ''} that nothing "
        "had been written to. Fresh memory may hold anything; the check fills it with NaN."
    )


def in_words(call: Call, finding: Finding | None) -> Finding | None:
    """A finding, with the way in which the call was run, if it was not the first one, and what to do where that was tuning."""
    if finding is None or call.variation == "nan":
        return finding
    if call.variation == "measured" or call.variation.startswith("tuning"):
        finding = replace(finding, advice=advice.MEASURED if call.variation == "measured" else advice.TUNED)
    how = (ORDERS | OTHER_WAYS).get(call.variation, "with another configuration of the autotuned kernel")
    return replace(finding, details=(f"This was seen {how}.", *finding.details))
