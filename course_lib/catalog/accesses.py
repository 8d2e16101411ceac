"""What an exercise can ask of compiled loads and stores: that they are 128 bits wide. Pure; reads a trace beside the code.

The trace of the interpreter says which elements each line touched, the compiled code how wide its instructions are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from course_lib.checking.events import Event, IntArray, Trace
from course_lib.checking.findings import Finding
from course_lib.checking.launch_code import LaunchCode

WIDE = 16
"""Bytes of the widest access that the GPUs in question have for ordinary loads and stores: 128 bits."""
LEFT_OVER = 4096
"""How many elements at the end may be fewer bytes at a time."""

_KINDS = {"load": ("global load", "async copy"), "store": ("global store",)}
_DONE = {"load": "loaded", "store": "stored"}


@dataclass(frozen=True)
class _Access:
    """A load or store of the trace, and how many bytes at a time the compiled code does it."""

    event: Event
    widths: frozenset[int]
    threads: int
    address: int
    """Of the tensor that its kernel was given, in bytes."""
    bytes: IntArray
    """The first byte of each element that it touches."""
    itemsize: int


def copied_wide(trace: Trace, code: tuple[LaunchCode, ...]) -> Finding | None:
    """Whether the one argument, a 1-D tensor, was loaded and the result stored 128 bits at a time, but for a rest.

    If the argument begins at an address that 16 does not divide, only that no access is wider than its addresses allow.
    """
    accesses = [_access(trace, code, event) for event in trace.events if event.kind in _KINDS]
    impossible = next(filter(None, map(_impossible, accesses)), None)
    loads = [one for one in accesses if one.event.kind == "load" and trace.view(one.event).argument == 0]
    if impossible or not loads or np.concatenate([one.bytes for one in loads]).min(initial=2**62) % WIDE:
        return impossible
    stores = [one for one in accesses if one.event.kind == "store" and trace.view(one.event).storage == trace.result_storage]
    n = trace.result.numel()
    return _narrow(loads, "load", n) or _narrow(stores, "store", n)


def _access(trace: Trace, code: tuple[LaunchCode, ...], event: Event) -> _Access:
    view, launch = trace.view(event), code[event.launch]
    return _Access(
        event,
        launch.widths(_KINDS[event.kind], event.source),
        launch.threads,
        view.offset * view.itemsize,
        (view.offset + event.elements) * view.itemsize,
        view.itemsize,
    )


def _impossible(one: _Access) -> Finding | None:
    """An access to whole pieces of memory of which it has only a part: a promise to the compiler that was not true."""
    if len(one.widths) != 1 or not one.itemsize < (width := max(one.widths)) <= WIDE:
        return None
    touched = len(np.unique(one.bytes))
    if len(np.unique(one.bytes // width)) * width == touched * one.itemsize:
        return None
    misaligned = one.address % width != 0
    why = (
        'begin at addresses that this width does not divide: a GPU stops there, with the error "misaligned address"'
        if misaligned
        else f"reach past the mask: {width // one.itemsize} elements are done or left out together"
    )
    return _finding(one, f"{8 * width}-bit accesses {why}", "misaligned" if misaligned else "cut")


def _narrow(accesses: list[_Access], kind: str, n: int) -> Finding | None:
    """Too many elements that no wide access has."""
    wide = [one.bytes for one in accesses if max(one.widths, default=0) >= WIDE]
    missing = n - (len(np.unique(np.concatenate(wide))) if wide else 0)
    if missing < LEFT_OVER:
        return None
    narrow = [one for one in accesses if max(one.widths, default=0) < WIDE]
    some = f"{missing} of {n} elements are"
    if not narrow:
        return Finding("compiled_code", f"{some} not {_DONE[kind]} 128 bits at a time")
    one = max(narrow, key=lambda one: one.event.lanes)
    pattern, why = _reason(one, n)
    return _finding(one, f"{some} {_DONE[kind]} {8 * max(one.widths, default=0)} bits at a time, not 128", pattern, why)


def _reason(one: _Access, n: int) -> tuple[str, str]:
    """Why an access is narrow, as far as the numbers tell: a pattern of "compiled_code", and a sentence."""
    share = one.event.lanes * one.itemsize / one.threads
    if share < WIDE:
        return "small", (
            f"The tile has {one.event.lanes} elements of {one.itemsize} bytes, and the program {one.threads} threads: "
            f"{share:g} bytes for each of them, and 128 bits are {WIDE}."
        )
    if len(one.bytes) > 1 and np.median(np.abs(np.diff(one.bytes))) != one.itemsize:
        return "scattered", "Neighbouring elements of the tile are no neighbours in memory."
    if one.address % WIDE:
        return "unproven", f"The kernel was given a pointer that {WIDE} does not divide, though `x` begins at one that it does."
    if n % 16:
        return "bound", f"{n} is not divisible by 16, so a mask may end within 16 bytes, for all that the compiler knows."
    return "unproven", "The compiler could not prove that 16 bytes are always inside together, and begin where 16 divides."


def _finding(one: _Access, message: str, pattern: str, detail: str = "") -> Finding:
    return Finding("compiled_code", message, pattern=pattern, source=one.event.source, details=(detail,) if detail else ())
