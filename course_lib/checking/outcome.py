"""What came out of a worker's folder, read back into values: calls that ended, and the failure that stopped the rest.

Everything here treats the folder as untrusted: plain arrays and JSON only, never pickle.
"""

from __future__ import annotations

import hmac
import io
import json
import os
import re
import signal
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from course_lib.checking import wire
from course_lib.checking.bundle import Bundle
from course_lib.checking.events import KIND_CODES, Event, Launch, Trace, View
from course_lib.checking.inside import POSITION


@dataclass(frozen=True)
class Call:
    """One call of the answer that ended: what it returned, and what its kernels did.

    `result` is the returned tensor, or None when something else came back; `returned` then says what. `after` holds the
    tensor arguments as the call left them, by position. `ops` counts the torch operations that the answer called.
    `notes` says what limits the interpreter's result.
    `poisoned` is the number of masked lanes without `other` that were read, filled with `poison`.
    """

    case: int
    poison: str
    trace: Trace
    result: torch.Tensor | None
    result_view: View | None
    returned: str
    after: dict[int, torch.Tensor]
    ops: dict[str, int]
    poisoned: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failure:
    """Why a run stopped. `kind` is one of not_done, crash, exit, timeout, memory_limit,
    too_much_traffic, does_not_compile, unsupported, killed.

    `exact` is False when the frame is only that of the last access to memory before the end.
    """

    kind: str
    type: str
    message: str
    frames: tuple[tuple[int, str], ...]
    case: int
    program: tuple[int, int, int] | None
    exact: bool = True
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """All calls that ended, in order, the failure that stopped the run (or None), and what was printed.

    After a run in mode "compile", there are no calls; `compiled` names each kernel and target, once a launch, and `undecided`
    says why the launcher stopped before its end, if it did without a launch being at fault. After a run in mode "assemble",
    `assembled` holds what became of the kernel (see `machine/assembling.py`).
    """

    calls: tuple[Call, ...]
    failure: Failure | None
    printed: str
    compiled: tuple[str, ...] = ()
    undecided: str | None = None
    assembled: dict[str, Any] | None = None


@dataclass(frozen=True)
class Ending:
    """How a worker ended: its wait status, whether it had to be killed; and what its results must look like."""

    status: int
    killed: bool
    mode: str
    cases: int
    key: str


def read_outcome(folder: Path, bundle: Bundle, ending: Ending) -> Outcome:
    """Read what a worker left in `folder`. Results without the right signature are a `ValueError`."""
    results = sorted(folder.glob("case_*.npz"), key=_order)
    calls = tuple(_read_call(path, bundle, ending.key) for path in results)
    printed = _read_text(folder / "printed.txt", 4000)
    finished = os.WIFEXITED(ending.status) and os.WEXITSTATUS(ending.status) == 0 and not (folder / "error.json").exists()
    if not finished:
        return Outcome(calls, _failure(folder, ending), printed)
    if ending.mode == "compile" and (folder / "compiled.json").exists():
        told = json.loads(_signed(folder / "compiled.json", ending.key))
        return Outcome((), None, printed, tuple(told["compiled"]), told["undecided"])
    if ending.mode == "assemble" and (folder / "assembled.json").exists():
        return Outcome((), None, printed, assembled=json.loads(_signed(folder / "assembled.json", ending.key)))
    return Outcome(calls, _unfinished(folder, calls, ending), printed)


def _signed(path: Path, key: str) -> bytes:
    """The content of a result, if the worker's own code has written it."""
    content = path.read_bytes()
    if not hmac.compare_digest(content[:32], hmac.digest(bytes.fromhex(key), content[32:], "sha256")):
        raise ValueError(f"{path.name} was not written by the checker")
    return content[32:]


def _order(path: Path) -> tuple[str, int]:
    _, number, poison = path.stem.split("_")
    return number, ("nan", "high", "low").index(poison)


def _read_text(path: Path, limit: int) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(limit)
    except OSError:
        return ""


def _read_call(path: Path, bundle: Bundle, key: str) -> Call:
    _, number, poison = path.stem.split("_")
    with np.load(io.BytesIO(_signed(path, key)), allow_pickle=False) as stored:
        arrays = dict(stored)
    header = json.loads(arrays["header"].tobytes())
    launches = tuple(
        Launch(launch["kernel"], tuple(launch["grid"]), tuple(map(_view, launch["views"])), launch["arguments"])
        for launch in header["launches"]
    )
    result, view, returned = _read_result(header["result"], arrays)
    after = {
        int(name.removeprefix("after_")): torch.from_numpy(np.array(array))
        for name, array in arrays.items()
        if name.startswith("after_")
    }
    trace = Trace(launches, _events(arrays, launches, bundle), result, result_storage=view.storage if view else None)
    return Call(
        int(number),
        poison,
        trace,
        result,
        view,
        returned,
        after,
        header["ops"],
        header["poisoned"],
        tuple(header.get("notes", ())),
    )


def _view(data: dict[str, Any]) -> View:
    return View(**{**data, "shape": tuple(data["shape"]), "stride": tuple(data["stride"])})


def _read_result(data: dict[str, Any], arrays: dict[str, np.ndarray]) -> tuple[torch.Tensor | None, View | None, str]:
    if "view" in data:
        view = _view(data["view"])
        return wire.tensor_of(arrays["result"], view.dtype, list(view.shape)), view, "a tensor"
    if data["type"] == "NoneType":
        return None, None, "None (is the `return` missing?)"
    return None, None, f"{'an' if data['type'][:1] in 'aeiou' else 'a'} {data['type']}, {data['repr']}"


def _events(arrays: dict[str, np.ndarray], launches: tuple[Launch, ...], bundle: Bundle) -> tuple[Event, ...]:
    events = []
    touched, at = arrays["touched"], 0
    lines = {int(line): bundle.line(int(line)) for line in np.unique(arrays["events"][:, 6])}
    for row in arrays["events"].tolist():
        kind, launch, x, y, z, view, line, inside, outside, masked, other, rank, *tile, barriers = row
        elements, stray = touched[at : at + inside], touched[at + inside : at + inside + outside]
        at += inside + outside
        events.append(
            Event(
                kind=KIND_CODES[kind],  # type: ignore[arg-type]
                launch=launch,
                program=(x, y, z),
                view=view,
                source=lines[line],
                elements=elements,
                outside=stray,
                lanes=inside + outside + masked,
                masked=masked,
                other=bool(other),
                shape=tuple(tile[: min(rank, 3)]),
                barriers=barriers,
            )
        )
    return tuple(events)


def _failure(folder: Path, ending: Ending) -> Failure:
    case, program, line = _whereabouts(folder)
    written = _read_text(folder / "error.json", 10**6)
    if written and not ending.killed:
        error = json.loads(written)
        frames = tuple((int(number), str(name)) for number, name in error["frames"])
        place = tuple(error["program"])
        program = place if place[0] >= 0 else None
        details = error.get("details", {})
        return Failure(error["kind"], error["type"], error["message"], frames, error["case"], program, details=details)
    last = ((line, ""),) if line > 0 else ()
    if ending.killed:
        return Failure("timeout", "wall", "", last, case, program, exact=False)
    if os.WIFSIGNALED(ending.status):
        frames = tuple(_fault_frames(folder))
        name = signal.Signals(os.WTERMSIG(ending.status)).name
        return Failure("killed", name, "", frames or last, case, program, exact=bool(frames))
    return Failure("exit", "exit", str(os.WEXITSTATUS(ending.status)), last, case, program, exact=False)


def _unfinished(folder: Path, calls: tuple[Call, ...], ending: Ending) -> Failure | None:
    """A process that ended well but left cases out ended itself: a status of 0 is not a result."""
    if ending.mode not in ("compile", "assemble") and len({call.case for call in calls}) == ending.cases:
        return None
    case, program, line = _whereabouts(folder)
    return Failure("exit", "exit", "0", ((line, ""),) if line > 0 else (), case, program, exact=False)


def _whereabouts(folder: Path) -> tuple[int, tuple[int, int, int] | None, int]:
    try:
        case, _, x, y, z, line = POSITION.unpack_from((folder / "where.bin").read_bytes())
    except (OSError, struct.error):
        return -1, None, -1
    return case, (x, y, z) if x >= 0 else None, line


def _fault_frames(folder: Path) -> list[tuple[int, str]]:
    """The answer's frames in faulthandler's report, outermost first."""
    text = _read_text(folder / "fault.txt", 10**5)
    found = re.findall(r'File "[^"]*answer\.py", line (\d+) in (\S+)', text)
    return [(int(line), name) for line, name in reversed(found)]
