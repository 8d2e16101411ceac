"""What came out of a worker's folder, read back into values: calls that ended, and the failure that stopped the rest.

Everything here treats the folder as untrusted: only regular files of bounded size are read, never a link, a pipe or a device;
results count if they are signed; they are plain arrays and JSON, never pickle; and text is made safe to show.
"""

from __future__ import annotations

import hmac
import io
import json
import os
import re
import signal
import struct
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from course_lib.checking import blocks, wire
from course_lib.checking.blocks import BlockRun
from course_lib.checking.bundle import Bundle
from course_lib.checking.events import COLUMNS, KIND_CODES, UPDATES, BrokenPromise, Event, Launch, Trace, View
from course_lib.checking.findings import SourceLine
from course_lib.checking.inside import POSITION, VARIATIONS, content_of
from course_lib.checking.launch_code import LaunchCode, launch_codes
from course_lib.checking.limits import MOST_PROCESSES
from course_lib.checking.plain_numbers import Form, Numbers

MOST_RESULT_BYTES = 2**30
"""Most that is read of one result. A call may record 240 MB of offsets, and return tensors besides."""


@dataclass(frozen=True)
class Unreachable:
    """A tensor that a launch was given, `name` in the kernel, and that `line` made on the CPU, naming no device."""

    launch: int
    name: str
    line: SourceLine | None


@dataclass(frozen=True)
class Call:
    """One call of the answer that ended: what it returned, and what its kernels did.

    `result` is the returned tensor, or None when something else came back; `returned` then says what. `after` holds the
    tensor arguments as the call left them, by position. `ops` counts the torch operations that the answer called.
    `notes` says what limits the interpreter's result. `source_view` is the tensor that the result is a copy of, or None.
    `variation` names the way in which the call was run (`inside.VARIATIONS`).

    `outside` lists tensors that changed outside any kernel: "name", the "launch" before which it was noticed, and whether the
    call had not met it before ("new"). `clashes` lists stores to an element that another lane of the same program had loaded
    or stored another value to: the "event", the "other" one, and the "element". `promises` are those to the compiler that did
    not hold. `elsewhere` says what was started that nothing observes: "thread", "process". `changed` has the lines by which
    torch wrote to arguments, by position. `unreachable` has the first tensor that a kernel on a GPU could not reach.

    `outdated_choice` says of an autotuned kernel that it ran with what an earlier call had chosen, and should not have.

    Where it need not be a tensor, what came back may be `numbers` instead. `blocks` are the runs of the thread simulator.
    """

    case: int
    variation: str
    trace: Trace
    result: torch.Tensor | None
    result_view: View | None
    returned: str
    after: dict[int, torch.Tensor]
    ops: dict[str, int]
    notes: tuple[str, ...] = ()
    outdated_choice: str = ""
    source_view: View | None = None
    outside: tuple[dict[str, Any], ...] = ()
    clashes: tuple[dict[str, int], ...] = ()
    promises: tuple[BrokenPromise, ...] = ()
    elsewhere: tuple[str, ...] = ()
    changed: Mapping[int, SourceLine | None] = field(default_factory=dict)
    unreachable: Unreachable | None = None
    numbers: Numbers | None = None
    blocks: tuple[BlockRun, ...] = ()


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

    After a run in mode "compile", there are no calls; `compiled` holds target, case and name of each kernel that was compiled,
    `stopped` target, case and error of each call of the launcher that stopped without a launch being at fault. `unavailable`
    says why nothing can be compiled on this machine, if so. `code` holds the code of the launches by target and case,
    if it was asked for. `overwritten` numbers the cases whose results no longer held, once
    all calls had ended, what they had held at first. After a run in mode "assemble", `assembled` holds what became of the
    kernel (see `machine/assembling.py`).
    """

    calls: tuple[Call, ...]
    failure: Failure | None
    printed: str
    compiled: frozenset[tuple[int, int, str]] = frozenset()
    stopped: tuple[tuple[int, int, str], ...] = ()
    unavailable: str | None = None
    overwritten: tuple[int, ...] = ()
    assembled: dict[str, Any] | None = None
    code: Mapping[tuple[int, int], tuple[LaunchCode, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Ending:
    """How a worker ended: its wait status, and what it was stopped for ("cpu", "wall", "processes", "memory") or None.

    The rest says what its results must look like.
    """

    status: int
    stopped: str | None
    mode: str
    cases: int
    key: str


def read_outcome(folder: Path, bundle: Bundle, ending: Ending) -> Outcome:
    """Read what a worker left in `folder`.

    Raises `ValueError` for a result without the right signature or form; other errors of reading may come as they are.
    """
    calls = tuple(_calls(folder, bundle, ending))
    printed = printable((content_of(folder / "printed.txt", 16_000) or b"").decode(errors="replace")[:4000])
    if failure := _failure(folder, ending):
        return Outcome(calls, failure, printed)
    if ending.mode == "compile" and (told := _signed(folder / "compiled.json", ending.key)) is not None:
        noted = _plain(told)
        compiled, stopped = (
            [(int(target), int(case), str(what)) for target, case, what in noted[key]] for key in ("compiled", "stopped")
        )
        code = launch_codes(noted["code"], bundle.line) if noted["code"] else {}
        return Outcome((), None, printed, frozenset(compiled), tuple(stopped), noted["unavailable"], code=code)
    if ending.mode == "assemble" and (told := _signed(folder / "assembled.json", ending.key)) is not None:
        return Outcome((), None, printed, assembled=_plain(told))
    kept = _plain(_signed(folder / "kept.json", ending.key) or b'{"overwritten": []}')
    overwritten = tuple(map(int, kept["overwritten"]))
    return Outcome(calls, _unfinished(folder, calls, ending), printed, overwritten=overwritten)


# --- files and text -----------------------------------------------------------------------------------------------


def _signed(path: Path, key: str) -> bytes | None:
    """A result that the worker's own code has written; None if there is none."""
    content = content_of(path, MOST_RESULT_BYTES)
    if content is None:
        return None
    if not hmac.compare_digest(content[:32], hmac.digest(bytes.fromhex(key), memoryview(content)[32:], "sha256")):
        raise ValueError(f"{path.name} was not written by the checker")
    return content[32:]


def _plain(content: bytes) -> Any:
    """JSON with all its text made safe."""

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return printable(value)
        if isinstance(value, list):
            return [clean(item) for item in value]
        return {printable(name): clean(item) for name, item in value.items()} if isinstance(value, dict) else value

    return clean(json.loads(content))


def printable(text: str) -> str:
    """Text in which what would not print, or would do something to a terminal or a page, stands as an escape.

    >>> printable("ok\\x1b[2J \\ud800")
    'ok\\\\x1b[2J \\\\ud800'
    """
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or unicodedata.category(c)[0] in "LMNPS" or c == " " else _escape(c) for c in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


# --- calls --------------------------------------------------------------------------------------------------------


def _calls(folder: Path, bundle: Bundle, ending: Ending) -> Iterator[Call]:
    for case, variation in product(range(ending.cases), VARIATIONS):
        content = _signed(folder / f"case_{case:03d}_{variation}.npz", ending.key)
        if content is not None:
            yield _read_call(content, case, variation, bundle)


def _read_call(content: bytes, case: int, variation: str, bundle: Bundle) -> Call:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
            raise ValueError("a result is compressed")  # and could be of any size once it is not
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        arrays = dict(stored)
    header = _plain(arrays["header"].tobytes())
    launches = tuple(
        Launch(str(launch["kernel"]), _grid(launch["grid"]), tuple(map(_view, launch["views"])), dict(launch["arguments"]))
        for launch in header["launches"]
    )
    result, view, returned = _read_result(header["result"], arrays)
    after = {
        int(name.removeprefix("after_")): torch.from_numpy(np.array(array, dtype=np.uint8))
        for name, array in arrays.items()
        if name.startswith("after_")
    }
    trace = Trace(launches, _events(arrays, launches, bundle), result, result_storage=view.storage if view else None)
    ops = {str(name): int(count) for name, count in header["ops"].items()}
    return Call(
        case,
        variation,
        trace,
        result,
        view,
        returned,
        after,
        ops,
        notes=tuple(map(str, header.get("notes", ()))),
        outdated_choice=str(header.get("outdated_choice", "")),
        source_view=_view(header["result"]["source"]) if "source" in header["result"] else None,
        outside=tuple(map(dict, header.get("outside", ()))),
        clashes=tuple({name: int(place) for name, place in store.items()} for store in header.get("clashes", ())),
        promises=tuple(_promise(promise, bundle) for promise in header.get("promises", ())),
        elsewhere=tuple(map(str, header.get("elsewhere", ()))),
        unreachable=_unreachable(header.get("unreachable"), bundle),
        changed={int(argument): bundle.line(int(line)) for argument, line in header.get("changed", ())},
        numbers=_numbers(header["result"], arrays),
        blocks=tuple(map(blocks.read, header.get("blocks", ()))),
    )


def _grid(sizes: list[Any]) -> tuple[int, int, int]:
    x, y, z = map(int, sizes)
    return x, y, z


def _unreachable(noted: dict[str, Any] | None, bundle: Bundle) -> Unreachable | None:
    if noted is None:
        return None
    return Unreachable(int(noted["launch"]), str(noted["name"]), bundle.line(int(noted["line"])))


def _promise(data: dict[str, Any], bundle: Bundle) -> BrokenPromise:
    source = bundle.line(int(data["line"]))
    return BrokenPromise(int(data["launch"]), _grid(data["program"]), source, str(data["message"]), bool(data["certain"]))


def _view(data: dict[str, Any]) -> View:
    return View(
        name=str(data["name"]),
        storage=int(data["storage"]),
        offset=int(data["offset"]),
        shape=tuple(map(int, data["shape"])),
        stride=tuple(map(int, data["stride"])),
        dtype=str(data["dtype"]),
        itemsize=int(data["itemsize"]),
        argument=None if data.get("argument") is None else int(data["argument"]),
        fresh=bool(data.get("fresh", False)),
    )


def _read_result(data: dict[str, Any], arrays: dict[str, np.ndarray]) -> tuple[torch.Tensor | None, View | None, str]:
    if "view" in data:
        view = _view(data["view"])
        return wire.tensor_of(arrays["result"], view.dtype, list(view.shape)), view, "a tensor"
    if "form" in data:
        return None, None, "numbers"
    if data["type"] == "NoneType":
        return None, None, "None (is the `return` missing?)"
    return None, None, f"{'an' if data['type'][:1].lower() in 'aeiou' else 'a'} {data['type']}, {data['repr']}"


def _numbers(data: dict[str, Any], arrays: dict[str, np.ndarray]) -> Numbers | None:
    if "form" not in data:
        return None
    form: Form = "number" if data["form"] == "number" else "list"
    return Numbers(form, tuple(arrays["result"].astype(np.float64).tolist()), tuple(map(int, data["undefined"])))


def _events(arrays: dict[str, np.ndarray], launches: tuple[Launch, ...], bundle: Bundle) -> tuple[Event, ...]:
    events = []
    rows, touched, at = arrays["events"], arrays["touched"], 0
    if rows.dtype != np.int64 or rows.shape[1:] != (COLUMNS,) or touched.dtype != np.int64 or touched.ndim != 1:
        raise ValueError("the events are not a table of whole numbers")
    if (rows[:, [0, 1, 5, 7, 8]] < 0).any() or rows[:, 7:9].sum() != len(touched):
        raise ValueError("the events do not belong to the elements")
    lines = {int(line): bundle.line(int(line)) for line in np.unique(rows[:, 6])}
    for row in rows.tolist():
        kind, launch, x, y, z, view, line, inside, outside, masked, other, rank, *tile, barriers, width, locked, update = row
        elements, stray = touched[at : at + inside], touched[at + inside : at + inside + outside]
        at += inside + outside
        if view >= len(launches[launch].views):
            raise ValueError("an event belongs to no view")
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
                width=width,
                locked=bool(locked),
                update=UPDATES[update],
            )
        )
    return tuple(events)


# --- failures -----------------------------------------------------------------------------------------------------


def _failure(folder: Path, ending: Ending) -> Failure | None:
    """What stopped the run; None if the worker came to its end."""
    case, program, line = _whereabouts(folder, ending.cases)
    last = ((line, ""),) if line > 0 else ()
    if ending.stopped in ("cpu", "wall"):
        return Failure("timeout", ending.stopped, "", last, case, program, exact=False)
    if ending.stopped == "memory":
        return Failure("memory_limit", "MemoryError", "", last, case, program, exact=False)
    if ending.stopped == "processes":
        message = f"the answer had more than {MOST_PROCESSES} processes at a time, and was stopped"
        return Failure("crash", "TooManyProcesses", message, last, case, program, exact=False)
    if error := _error(folder, ending.key):
        return error
    if os.WIFSIGNALED(ending.status):
        frames = tuple(_fault_frames(folder))
        name = signal.Signals(os.WTERMSIG(ending.status)).name
        return Failure("killed", name, "", frames or last, case, program, exact=bool(frames))
    code = os.WEXITSTATUS(ending.status)
    return Failure("exit", "exit", str(code), last, case, program, exact=False) if code else None


def _error(folder: Path, key: str) -> Failure | None:
    """What the worker says has gone wrong. If somebody else says so, the answer has ended its process by itself."""
    try:
        content = _signed(folder / "error.json", key)
    except ValueError:
        return None
    if content is None:
        return None
    error = _plain(content)
    x, y, z = map(int, error["program"])
    return Failure(
        kind=str(error["kind"]),
        type=str(error["type"]),
        message=str(error["message"]),
        frames=tuple((int(line), str(name)) for line, name in error["frames"]),
        case=int(error["case"]),
        program=(x, y, z) if x >= 0 else None,
        details=dict(error.get("details", {})),
    )


def _unfinished(folder: Path, calls: tuple[Call, ...], ending: Ending) -> Failure | None:
    """A process that ended well but left cases out ended itself: a status of 0 is not a result."""
    if ending.mode != "compile" and len({call.case for call in calls}) == ending.cases:
        return None
    case, program, line = _whereabouts(folder, ending.cases)
    return Failure("exit", "exit", "0", ((line, ""),) if line > 0 else (), case, program, exact=False)


def _whereabouts(folder: Path, cases: int) -> tuple[int, tuple[int, int, int] | None, int]:
    try:
        case, _, x, y, z, line = POSITION.unpack(content_of(folder / "where.bin", POSITION.size) or b"")
    except struct.error:
        return -1, None, -1
    return case if case < cases else -1, (x, y, z) if x >= 0 else None, line


def _fault_frames(folder: Path) -> list[tuple[int, str]]:
    """The answer's frames in faulthandler's report, outermost first."""
    text = (content_of(folder / "fault.txt", 10**5) or b"").decode(errors="replace")
    found = re.findall(r'File "[^"]*answer\.py", line (\d{1,9}) in (\S+)', text)
    return [(int(line), printable(name)) for line, name in reversed(found)]
