"""What a call's events say about its use of memory: strays, races, unwritten elements, undefined lanes.

Pure functions from traces to findings; nothing is run and Triton is not imported. Each function answers one question
and returns a `Finding` or None.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from course_lib.checking import wire
from course_lib.checking.events import BrokenPromise, Event, IntArray, Trace, View
from course_lib.checking.findings import MOST_EVIDENCE, Finding, SourceLine

VERBS = {"load": "reads", "store": "writes", "atomic": "updates"}


def stray_access(trace: Trace) -> Finding | None:
    """Did an active lane's address lie outside the tensor that its pointer came from?

    The program with the first such access is named, with all its strays on that line.
    """
    first = next((event for event in trace.events if len(event.outside)), None)
    if first is None:
        return None
    same_line = [e for e in trace.events if len(e.outside) and e.source == first.source and e.view == first.view]
    mine = [e for e in same_line if e.program == first.program and e.launch == first.launch]
    lanes = sum(len(event.outside) for event in mine)
    offsets = np.unique(np.concatenate([event.outside for event in mine]))
    programs = len({(event.launch, event.program) for event in same_line})
    view = trace.view(first)
    pattern = _stray_pattern(view, mine, offsets)
    what = f"{_elements(len(offsets))} {_where(view, offsets)}"
    what = {
        "size": "memory that is no whole element of",
        "beyond": f"{_elements(len(offsets))} that are not an input's, in",
    }.get(pattern, what)
    details = [f"`{view.name}` has {_size(view)}; the program used {ranges(offsets)}."]
    if pattern == "size":
        details = [
            f"`{view.name}` holds {view.dtype}, {_count(view.itemsize, 'byte')} each. This pointer was cast to another type."
        ]
    elif pattern == "beyond":
        details = [
            f"`{view.name}` is a view that reaches beyond the input that it was made of: {ranges(offsets)} is no part of that."
        ]
    elif pattern in ("masked", "unmasked", "below", "spread"):
        details.append(
            "The mask left these lanes on." if pattern != "unmasked" else f"No lane of this {first.kind} was masked off."
        )
    if lanes > len(offsets):
        details.append(f"{lanes} lanes do so; several of them mean the same element.")
    if programs > 1:
        details.append(f"{programs} programs do this on the same line.")
    evidence = {"offsets": offsets[:MOST_EVIDENCE].tolist(), "elements": _extent(view), "tensor": view.name}
    return Finding(
        {"load": "load_out_of_bounds"}.get(first.kind, "store_out_of_bounds"),
        f"program {first.program} {VERBS[first.kind]} {what} `{view.name}`",
        pattern=pattern,
        kernel=trace.launches[first.launch].kernel,
        program=first.program,
        source=first.source,
        count=len(offsets),
        details=tuple(details),
        evidence=evidence if pattern not in ("size", "beyond") else {},
    )


def _where(view: View, offsets: IntArray) -> str:
    """In words, on which side of the view the offsets lie."""
    extent = _extent(view)
    if (offsets < 0).all():
        return "before the start of"
    if (offsets >= extent).all():
        return "past the end of"
    return "between the elements of" if ((offsets >= 0) & (offsets < extent)).all() else "outside"


def _stray_pattern(view: View, mine: list[Event], offsets: IntArray) -> str:
    """What the strays of one program on one line have in common; see `findings.PATTERNS`."""
    if np.isin(offsets + view.offset, view.elements).any():
        return "beyond" if mine[0].width == view.itemsize else "size"  # the address is inside, and yet the access does not fit
    if not is_contiguous(view.shape, view.stride):
        return "strides"
    masked = any(event.masked for event in mine)
    if (offsets < 0).all():
        return "below" if masked else "before"
    if any(mine[0].program) and not any(len(event.elements) for event in mine):
        return "program"
    if masked and len(view.shape) == 1 and all(map(_spread, mine)):
        return "spread"
    return "masked" if masked else "unmasked"


def _spread(event: Event) -> bool:
    """Whether the lanes of a load or store lie equally far apart, and further than neighbours do."""
    steps = np.diff(np.sort(np.r_[event.elements, event.outside]))
    return len(steps) > 0 and bool(steps[0] > 1 and (steps == steps[0]).all())


def is_contiguous(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Whether elements of this shape lie side by side, row after row.

    >>> is_contiguous((2, 3), (3, 1)), is_contiguous((2, 3), (1, 2)), is_contiguous((1, 3), (9, 1))
    (True, False, True)
    """
    expected = 1
    for size, step in zip(reversed(shape), reversed(stride), strict=True):
        if size != 1 and step != expected:
            return False
        expected *= size
    return True


def _extent(view: View) -> int:
    """How many elements lie between the first and the last one of a view, both included."""
    steps = zip(view.shape, view.stride, strict=True)
    return 1 + sum((size - 1) * step for size, step in steps) if view.numel else 0


def race(trace: Trace) -> Finding | None:
    """Did two programs of one launch touch the same element, at least one of them writing without an atomic or a lock?

    Or one of them replacing by an atomic what the other one updates by another; see `_replaced`.
    """
    return _races(trace, trace.events)


def behind_a_lock(trace: Trace) -> Finding | None:
    """Is there a race but for a lock? Programs run one after another here, so nobody has seen whether it keeps them apart."""
    if not any(event.locked for event in trace.events):
        return None
    found = _races(trace, tuple(replace(event, locked=False) for event in trace.events))
    return found and replace(
        found,
        kind="no_verdict",
        message=f"this cannot be judged on the CPU: {found.message}, each after a `tl.atomic_cas`, as with a lock",
        pattern="",
        details=(
            "Triton's interpreter runs one program after another, so a lock is always free there: whether it keeps "
            "programs apart on a GPU is not seen.",
            "`tl.atomic_add` and its like need no lock.",
        ),
    )


def _races(trace: Trace, all_events: tuple[Event, ...]) -> Finding | None:
    for launch in range(len(trace.launches)):
        for storage in sorted({view.storage for view in trace.launches[launch].views}):
            there = [e for e in all_events if e.launch == launch and trace.view(e).storage == storage]
            events = [event for event in there if len(event.elements)]
            if finding := _race_in(trace, events) or _replaced(trace, events):
                return finding
    return None


def _race_in(trace: Trace, events: list[Event]) -> Finding | None:
    if all(event.kind == "load" for event in events):
        return None
    numbers = {program: i for i, program in enumerate(dict.fromkeys(e.program for e in events))}
    unit = min(trace.view(e).itemsize for e in events)  # views of other dtypes share their bytes with this one
    touched = [_storage_elements(trace, e, unit) for e in events]
    elements, sizes = np.concatenate(touched), [len(units) for units in touched]
    which = np.repeat(np.arange(len(events)), sizes)
    program = np.repeat([numbers[e.program] for e in events], sizes)
    writes = np.repeat([e.kind != "load" for e in events], sizes)
    apart = np.repeat([e.kind == "atomic" or e.locked for e in events], sizes)
    order = np.argsort(elements, kind="stable")
    elements, which, program = elements[order], which[order], program[order]
    starts = np.flatnonzero(np.r_[True, elements[1:] != elements[:-1]])
    shared = np.minimum.reduceat(program, starts) != np.maximum.reduceat(program, starts)
    written = np.logical_or.reduceat(writes[order], starts)
    all_apart = np.logical_and.reduceat(apart[order], starts)
    conflicts = np.flatnonzero(shared & written & ~all_apart)
    if not len(conflicts):
        return None
    begin = starts[conflicts[0]]
    end = starts[conflicts[0] + 1] if conflicts[0] + 1 < len(starts) else len(elements)
    involved = [events[i] for i in which[begin:end]]
    one = next(e for e in involved if e.kind != "load")
    other = next(e for e in involved if e.program != one.program)
    view = trace.view(one)
    element = int(elements[begin]) * unit // view.itemsize - view.offset
    count = len(np.unique(elements[starts[conflicts]] * unit // view.itemsize))
    relation = "writes it too" if other.kind == "store" else f"{VERBS[other.kind]} it"
    pattern = "read" if other.kind != "store" else "same" if np.array_equal(one.elements, other.elements) else "overlap"
    if pattern == "overlap" and not any(event.masked for event in events if event.source == one.source):
        pattern = "spill"
    return Finding(
        "race",
        f"program {one.program} {VERBS[one.kind]} element {element} of `{view.name}`, and program {other.program} {relation}",
        pattern=pattern,
        kernel=trace.launches[one.launch].kernel,
        program=one.program,
        source=one.source,
        count=count,
        details=(
            f"{_elements(count)} of `{view.name}` {'is' if count == 1 else 'are'} shared in this way. "
            "A GPU promises no order between programs, so the result is a matter of luck.",
            *((f"The other access: line {other.source.line}, `{other.source.text}`",) if other.source != one.source else ()),
        ),
    )


def _replaced(trace: Trace, events: list[Event]) -> Finding | None:
    """Did a program exchange an element that another one updated after it, both by atomics, as the programs ran here?

    On a GPU, what the other one has added may be there before the exchange, and is lost then, also if a ticket said who came
    first. An exchange that came after all others' updates may be theirs who knows it to be the last, and sets a counter back.
    A comparison, as in a lock, loses nothing, nor does a program that updates the element after its exchange: it may put back
    what it has taken out. That the exchanged value goes to another place is not seen, and taken for lost.
    """
    exchanges = [(number, event) for number, event in enumerate(events) if event.update == "exchange"]
    for number, one in exchanges:
        later = [event for event in events[number + 1 :] if event.update == "combine"]
        mine = [event for event in later if event.program == one.program]
        for other in later:
            if other.program == one.program or (one.locked and other.locked):
                continue
            unit = min(trace.view(one).itemsize, trace.view(other).itemsize)
            shared = np.intersect1d(_storage_elements(trace, one, unit), _storage_elements(trace, other, unit))
            for event in mine:
                shared = np.setdiff1d(shared, _storage_elements(trace, event, unit))
            if len(shared):
                return _replaced_finding(trace, one, other, shared * unit // trace.view(one).itemsize)
    return None


def _replaced_finding(trace: Trace, one: Event, other: Event, shared: IntArray) -> Finding:
    view = trace.view(one)
    replaced = f"element {int(shared[0]) - view.offset} of `{view.name}`"
    return Finding(
        "race",
        f"program {one.program} replaces {replaced}, and program {other.program} {VERBS[other.kind]} it",
        pattern="replaced",
        kernel=trace.launches[one.launch].kernel,
        program=one.program,
        source=one.source,
        count=len(np.unique(shared)),
        details=(
            "A GPU promises no order between programs. If the other one comes first, what it has added is replaced, and lost.",
            f"The other access: line {other.source.line}, `{other.source.text}`",
        ),
    )


def read_back(trace: Trace) -> Finding | None:
    """Did a program load an element that it had stored or updated in the same launch, with no barrier in between?

    The threads of a program share its stores and loads among themselves; which thread stores an element and which one loads it
    is the compiler's choice, and without a barrier the load may come first.
    """
    both = (_touched_by(trace, "store") | _touched_by(trace, "atomic")) & _touched_by(trace, "load")
    stored: dict[tuple[int, tuple[int, int, int], int], list[Event]] = {}
    for event in trace.events:
        storage = (event.launch, trace.view(event).storage)
        if storage not in both or not len(event.elements):
            continue
        mine = stored.setdefault((event.launch, event.program, storage[1]), [])
        if event.kind != "load":
            mine.append(event)
        else:
            for store in (store for store in mine if store.barriers == event.barriers):
                unit = min(trace.view(store).itemsize, trace.view(event).itemsize)
                again = np.intersect1d(_storage_elements(trace, store, unit), _storage_elements(trace, event, unit))
                if len(again):
                    return _read_back_finding(trace, store, event, again)
    return None


def _touched_by(trace: Trace, kind: str) -> set[tuple[int, int]]:
    return {(event.launch, trace.view(event).storage) for event in trace.events if event.kind == kind}


def _read_back_finding(trace: Trace, store: Event, load: Event, again: IntArray) -> Finding:
    name = trace.view(load).name
    done = "update" if store.kind == "atomic" else "store"
    return Finding(
        "read_back",
        f"program {load.program} loads {_elements(len(again))} of `{name}` that it has {done}d before",
        kernel=trace.launches[load.launch].kernel,
        program=load.program,
        source=load.source,
        count=len(again),
        details=(
            f"The {done}: line {store.source.line}, `{store.source.text}`",
            f"On a GPU a program is many threads. One may load before another one's {done} has arrived, unless a "
            "`tl.debug_barrier()` between the two lines lets them wait for each other.",
        ),
    )


def unwritten(trace: Trace, result: View, inputs: Sequence[str] = (), source: View | None = None) -> Finding | None:
    """Was each element of the result written by some kernel? Of a copy of `source`, there or in the copy.

    `inputs` names the arguments by position if they must stay as they are; then none of them can be the result.
    """
    written = _written(trace, result)
    missing = np.flatnonzero(~(written if source is None else written | _written(trace, source)))
    if not len(missing):
        return None
    writes = _writes(trace, result)
    if source is not None and not writes:
        result, writes = source, _writes(trace, source)
    if inputs and result.argument is not None:
        return _input_returned(result, inputs[result.argument])
    pattern, explanation = _missing_pattern(trace, result, missing, writes)
    details = list(explanation)
    if len(missing) < result.numel:
        counted = ", counted row by row" if len(result.shape) > 1 else ""
        details.insert(0, f"Not written: {ranges(missing)}{counted}.")
    blame = writes[-1] if writes else None
    return Finding(
        "unwritten",
        f"{_share(len(missing), result.numel)} never written by a kernel",
        pattern=pattern,
        kernel=trace.launches[blame.launch].kernel if blame else None,
        source=blame.source if blame else None,
        count=len(missing),
        details=tuple(details),
        evidence={"missing": missing[:MOST_EVIDENCE].tolist(), "elements": result.numel},
    )


def _writes(trace: Trace, view: View) -> list[Event]:
    return [e for e in trace.events if e.kind != "load" and trace.view(e).storage == view.storage]


def _written(trace: Trace, view: View) -> np.ndarray:
    """Which elements of a view kernels have written, row by row."""
    writes = _writes(trace, view)
    unit = min([view.itemsize, *(trace.view(e).itemsize for e in writes)])
    written = [_storage_elements(trace, event, unit) for event in writes]
    parts = _in_units(view.elements, view.itemsize // unit)
    return np.asarray(np.isin(parts, np.concatenate(written)).all(axis=1)) if written else np.zeros(len(parts), np.bool_)


def _share(count: int, total: int) -> str:
    """The subject of a sentence: how many of the result's elements.

    >>> _share(1, 1), _share(8, 8), _share(1, 9)
    ("the result's only element was", 'all 8 elements of the result were', '1 of 9 elements of the result was')
    """
    if count == total:
        return "the result's only element was" if total == 1 else f"all {total} elements of the result were"
    return f"{count} of {total} elements of the result {'was' if count == 1 else 'were'}"


def _missing_pattern(trace: Trace, result: View, missing: IntArray, writes: list[Event]) -> tuple[str, list[str]]:
    """Which of the patterns of "unwritten" in `findings.PATTERNS` this is (or ""), and what there is to say about it."""
    if not writes:
        stored = next((event for event in trace.events if event.kind != "load"), None)
        if stored is not None:
            return "elsewhere", [f"The kernel wrote to `{trace.view(stored).name}`, and another tensor was returned."]
        empty = [launch for launch in trace.launches if 0 in launch.grid]
        idle = [f"`{launch.kernel}` was launched with the grid {launch.grid}: no program ran." for launch in empty]
        return ("no_program", idle) if idle else ("nothing", ["No program stored anything."])
    absent = np.zeros(result.numel, dtype=np.bool_)
    absent[missing] = True
    if missing[0] > 0 and absent[missing[0] :].all():
        programs = len({(event.launch, event.program) for event in trace.events})
        return ("one_program", ["Only one program ran."]) if programs == 1 else ("tail", [])
    if len(result.shape) == 2:
        columns = np.asarray(absent.reshape(result.shape).any(axis=0))
        first = int(columns.argmax())
        if first > 0 and columns[first:].all() and absent.reshape(result.shape)[:, first:].all():
            return "row_ends", [f"In every row the columns from {first} on are missing."]
    return ("gaps" if missing[0] > 0 and missing[-1] < result.numel - 1 else ""), []


def _input_returned(result: View, name: str) -> Finding:
    return Finding(
        "unwritten",
        f"the answer returned the input `{name}` itself, or a view of it",
        pattern="input",
        count=result.numel,
    )


def _called(view: View, inputs: Sequence[str]) -> str:
    """An argument by the name that its exercise gives it, and by the kernel's."""
    assert view.argument is not None
    own, inside = inputs[view.argument], view.name
    return f"`{own}`" if inside in (own, f"{own}_ptr") else f"`{own}` (in the kernel: `{inside}`)"


def clash(trace: Trace, found: dict[str, int]) -> Finding:
    """Two lanes of a program had to do with one element, the later one storing to it, and no barrier orders them."""
    event, other = trace.events[found["event"]], trace.events[found["other"]]
    view = trace.view(event)
    if other.kind == "load":
        kind = "overtaken_load"
        message = f"program {event.program} writes to element {found['element']} of `{view.name}`, which another lane loads"
        several = np.count_nonzero(event.elements == found["element"]) > 1
        details: tuple[str, ...] = (
            f"The load: line {other.source.line}, `{other.source.text}`",
            "On a GPU a program is many threads. One may store before another one has loaded"
            + (
                ", or after that, and then the other one's store takes its place. No waiting helps against both."
                if several
                else ", unless a `tl.debug_barrier()` between the two lines lets them wait for each other."
            ),
        )
    else:
        kind = "write_twice"
        how = "two lanes of this store" if event is other else f"this store and one before it (line {other.source.line})"
        message = f"program {event.program} writes different values to element {found['element']} of `{view.name}`: {how}"
        details = ("The threads of a program write in no order that you could rely on, so either value may remain.",)
    return Finding(
        kind,
        message,
        kernel=trace.launches[event.launch].kernel,
        program=event.program,
        source=event.source,
        count=1,
        details=details,
    )


def _uninitialized(trace: Trace, event: Event, missing: int) -> Finding:
    name = trace.view(event).name
    return Finding(
        "uninitialized",
        f"the result depends on {_elements(missing)} of `{name}` that {'was' if missing == 1 else 'were'} read before anything "
        "was written there",
        kernel=trace.launches[event.launch].kernel,
        program=event.program,
        source=event.source,
        count=missing,
        details=(
            "Fresh memory may hold anything. The check filled it with NaN, with a huge and a very negative number, and with 0, "
            "and the result changed.",
        ),
    )


def read_before_written(trace: Trace) -> tuple[Event, int] | None:
    """The first event that reads what nothing had been written to, from a fresh tensor, and how many elements."""
    written: dict[int, list[IntArray]] = {}
    for event in trace.events:
        view = trace.view(event)
        if not view.fresh or not len(event.elements):
            continue
        elements, before = _storage_elements(trace, event), written.setdefault(view.storage, [])
        missing = int((~np.isin(elements, np.concatenate(before))).sum()) if before else len(elements)
        if event.kind != "store" and missing:
            return event, missing
        if event.kind != "load":
            before.append(elements)
    return None


def false_promise(trace: Trace, promise: BrokenPromise) -> Finding:
    """A kernel has told the compiler what is not so, and uses the values about which it has."""
    return Finding(
        "false_promise",
        f"in program {promise.program}, {promise.message}",
        kernel=trace.launches[promise.launch].kernel,
        program=promise.program,
        source=promise.source,
        details=(
            "The interpreter takes no notice of it. A compiler relies on it: it may load or store several elements at once, "
            "and let one lane's mask count for its neighbours.",
        ),
    )


def undefined_lanes(trace: Trace, results: list[torch.Tensor], promises: Sequence[BrokenPromise] = ()) -> Finding | None:
    """Does the result change with what undefined lanes happen to hold?

    Such are masked lanes without `other`, memory that nothing was written to, and lanes that are not as promised. `results` are
    those of the same call with different poison there, and `trace` is that of the first.
    """
    first = results[0]
    for other in results[1:]:
        same = (first == other) | ((first != first) & (other != other)) if first.shape == other.shape else None
        if same is None or not bool(same.all()):
            break
    else:
        return None
    count = int((~same).sum()) if same is not None else None
    if (fresh := read_before_written(trace)) is not None:
        return _uninitialized(trace, *fresh)
    blame = next((e for e in trace.events if e.kind == "load" and not e.other and e.masked), None)
    if promises:
        return false_promise(trace, promises[0])
    if blame is None:
        return None
    return Finding(
        "undefined_lanes",
        f"the result depends on what this load puts into {_count(blame.masked, 'masked lane')}",
        kernel=trace.launches[blame.launch].kernel,
        program=blame.program,
        source=blame.source,
        count=count,
        details=(
            "Without `other`, a masked lane may hold anything on a GPU. The check filled these lanes with NaN, with a huge "
            "and a very negative number, and with 0, and the result changed.",
        ),
    )


def input_changed(
    trace: Trace,
    before: list[torch.Tensor | None],
    after: dict[int, torch.Tensor],
    inputs: Sequence[str],
    by_torch: Mapping[int, SourceLine | None],
) -> Finding | None:
    """Are the tensor arguments as they were? `after` holds the bytes of each one's elements, each once (`wire.once`).

    `inputs` names the arguments by position, and `by_torch` has the lines by which torch wrote to them.
    """
    for position, tensor in enumerate(before):
        if tensor is None or position not in after or not tensor.numel():
            continue
        was = torch.from_numpy(wire.values_of(wire.once(tensor))).reshape(-1, tensor.element_size())
        resized = after[position].numel() != was.numel()
        changed = torch.ones(len(was)) if resized else (was != after[position].reshape(was.shape)).any(dim=1)
        if bool(changed.any()):
            return _changed(trace, position, int(changed.sum()), inputs, by_torch.get(position))
    return None


def _changed(trace: Trace, position: int, count: int, inputs: Sequence[str], by_torch: SourceLine | None) -> Finding:
    writes = [e for e in trace.events if e.kind != "load" and trace.view(e).argument == position and len(e.elements)]
    blame = writes[0] if writes else None
    name = _called(trace.view(blame), inputs) if blame else f"`{inputs[position]}`"
    by = f"first by program {blame.program}" if blame else f"by torch{', outside any kernel' if trace.launches else ''}"
    return Finding(
        "input_changed",
        f"{_elements(count)} of the input {name} {'was' if count == 1 else 'were'} changed, {by}",
        kernel=trace.launches[blame.launch].kernel if blame else None,
        program=blame.program if blame else None,
        source=blame.source if blame else by_torch,
        count=count,
        details=("The caller still needs its tensors.",),
    )


def too_many_reads(trace: Trace, limit: float) -> Finding | None:
    """Do the kernels read some argument more than `limit` times over, counting each element once per load?

    Bytes asked for by lanes; a cache may spare the memory some of them, but a kernel that reads once need not hope for that.
    Where a view repeats an element with stride 0, each repetition counts as an element.
    """
    reads = [event for event in trace.events if event.kind != "store" and trace.view(event).argument is not None]
    for position in sorted({trace.view(event).argument or 0 for event in reads}):
        mine = [event for event in reads if trace.view(event).argument == position]
        view = trace.view(mine[0])
        distinct = len(np.unique(np.concatenate([_storage_elements(trace, event) for event in mine])))
        distinct *= math.prod(size for size, step in zip(view.shape, view.stride, strict=True) if step == 0)
        asked = sum(len(event.elements) for event in mine)
        if distinct and asked / distinct > limit:
            return Finding(
                "too_much_traffic",
                f"the kernels read each element of `{view.name}` {asked / distinct:.1f} times; {limit:g} is enough",
                kernel=trace.launches[mine[-1].launch].kernel,
                source=mine[-1].source,
                count=asked,
                details=(
                    f"{asked * view.itemsize} bytes were read, and {distinct * view.itemsize} is the least possible. "
                    "Keep in registers what you need again: a value that was loaded stays there.",
                ),
            )
    return None


@dataclass(frozen=True)
class Programs:
    """How many programs a launch started, how many touched any element, and how many elements of one tensor they touched."""

    kernel: str
    started: int
    busy: int
    touched: int


def programs(trace: Trace) -> list[Programs]:
    """What the programs of each launch had to do."""
    counted = []
    for number, launch in enumerate(trace.launches):
        events = [event for event in trace.events if event.launch == number and len(event.elements)]
        tensors = [trace.view(event).storage for event in events]
        touched = [
            len(
                np.unique(
                    np.concatenate([event.elements for event, mine in zip(events, tensors, strict=True) if mine == tensor])
                )
            )
            for tensor in set(tensors)
        ]
        busy = len({event.program for event in events})
        counted.append(Programs(launch.kernel, math.prod(launch.grid), busy, max(touched, default=0)))
    return counted


FEW_TIMES = 4
"""So many times as many programs as have something to do are no fault: a launcher may round up generously."""


def one_for_each_element(launches: Sequence[Programs]) -> bool:
    """Whether a kernel's launches started a program for each element, and hardly any of them had something to do.

    A fixed number of programs, or one with a limit, is none of that, however few of them have something to do.
    """
    counted = [launch for launch in launches if launch.touched]
    grows = len({launch.started for launch in counted}) > 1 and all(launch.started >= launch.touched for launch in counted)
    return grows and any(map(mostly_idle, counted))


def mostly_idle(launch: Programs) -> bool:
    return launch.started > FEW_TIMES * launch.busy


def _storage_elements(trace: Trace, event: Event, unit: int | None = None) -> IntArray:
    """Where in its storage an event's elements lie, counted in units of `unit` bytes (of the view's elements if None)."""
    view = trace.view(event)
    elements = event.elements + view.offset
    return _in_units(elements, view.itemsize // unit if unit else 1).reshape(-1)


def _in_units(elements: IntArray, each: int) -> IntArray:
    """Each element as the `each` smaller units that it is made of; shape `[len(elements), each]`."""
    return elements[:, None] * each + np.arange(each)


def _size(view: View) -> str:
    extent = _extent(view)
    layout = f" (shape {view.shape}, strides {view.stride})" if len(view.shape) > 1 or extent != view.numel else ""
    if not extent:
        return f"no elements{layout}"
    places = "offset 0" if extent == 1 else f"{'some of ' if extent > view.numel else ''}the offsets 0…{extent - 1}"
    return f"{_elements(view.numel)}{layout}, at {places}, counted in elements"


def _elements(count: int) -> str:
    return _count(count, "element")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def ranges(numbers: IntArray | list[int], most: int = 4) -> str:
    """Numbers as ranges in words: ``ranges([3, 4, 5, 9])`` is ``"3…5, 9"``. Of more than `most` ranges, the last stands too."""
    runs: list[list[int]] = []
    for number in sorted(set(map(int, numbers))):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    spelled = [str(a) if a == b else f"{a}…{b}" for a, b in runs]
    return ", ".join(spelled if len(spelled) <= most else [*spelled[: most - 1], "…", spelled[-1]])
