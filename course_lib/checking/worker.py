"""The inside of the process that runs an answer. It knows inputs and nothing about what is expected.

`main(folder)` reads `request.json` and hands the answer, under limits, to `interpreting.run` or `compiling.run`, which write
what came of it into the folder. When that raises, `error.json` says what; a process that dies on the spot leaves `where.bin`
(see `inside.Whereabouts`) and, after a signal, `fault.txt`.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import triton  # noqa: F401 - before `hooks`, which the guard installs once Triton is there

from course_lib.checking import confine, shield
from course_lib.checking.clock import Clock
from course_lib.checking.clues import clues
from course_lib.checking.inside import ANSWER_FILE, Save, Whereabouts, saver
from course_lib.checking.limits import MOST_TASKS, Limits

MODES = {
    "interpret": "course_lib.checking.interpreting",
    "compile": "course_lib.checking.compiling",
    "assemble": "course_lib.machine.assembling",
    "gpu": "course_lib.checking.running",
}
"""The module whose `run` does the work. A process has one mode: Triton decides it once, at its import."""


def main(folder: Path, readable: Iterable[Path] | None = None) -> NoReturn:
    """Run the request that lies in `folder`, which may read nothing but `readable` if that is given. Ends the process."""
    os.chdir(folder)
    request = json.loads(Path("request.json").read_text())
    Path("request.json").unlink()
    save = saver(folder, bytes.fromhex(request.pop("key")))
    request["save"] = _only_untouched(save)
    where = Whereabouts(Path("where.bin"))
    faulthandler.enable(open("fault.txt", "w"), all_threads=False)  # noqa: SIM115 - must stay open until the end
    _redirect_output()
    run = doing(request["mode"])
    _set_home(folder)
    if request["apart"]:
        os.environ["TRITON_CACHE_DIR"] = str(folder / "compiled")
    confine.give_up((folder, *caches(request["mode"])), files(request["mode"]), readable)
    _set_limits(Limits(**request["limits"]), where, save)
    code = 1
    try:
        shield.put_up(Path(ANSWER_FILE), exercise=request["exercise"])
        sys.path[:0] = request["sys_path"]
        run(request, where)
        code = 0
    except BaseException as error:  # the process is the answer's: whatever it raises is the result
        _lift_memory_limit()
        save("error.json", json.dumps(describe(error, where)).encode())
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        os._exit(code)


def doing(mode: str) -> Any:
    """The function that does the work of a mode; this process is made ready for it."""
    module = importlib.import_module(MODES[mode])
    if mode == "interpret":
        module.prepare()
    return module.run


def _only_untouched(save: Save) -> Save:
    def saved(file: str, content: bytes) -> None:
        shield.see_that_all_is_in_place()
        save(file, content)

    return saved


def caches(mode: str) -> tuple[Path, ...]:
    """Folders outside its own that a worker of this mode writes to: what Triton has compiled is kept."""
    if mode == "interpret":
        return ()
    cache = Path(os.environ["TRITON_CACHE_DIR"])
    with contextlib.suppress(OSError):  # then Triton says so itself
        cache.mkdir(parents=True, exist_ok=True)
    return (cache,)


def files(mode: str) -> tuple[Path, ...]:
    """Files outside its own folder that a worker of this mode writes to."""
    usual = tuple(map(Path, ("/dev/null", "/dev/zero", "/dev/full")))
    if mode != "gpu":
        return usual
    gpus = [path for pattern in ("nvidia*", "nvidia-caps/*", "dri/*", "kfd", "dxg") for path in Path("/dev").glob(pattern)]
    return (*usual, *gpus, Path("/proc/self"))  # CUDA gives its threads names


# --- when it goes wrong -------------------------------------------------------------------------------------------


def describe(error: BaseException, where: Whereabouts) -> dict[str, Any]:
    """An exception as plain data: its innermost cause, and the lines of the answer that it passed through."""
    frames: list[tuple[int, str]] = []
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and len(chain) < 100:
        chain.append(current)
        current = current.__cause__ if type(current).__name__ == "InterpreterError" else None
    for link in chain:
        for frame in traceback.extract_tb(link.__traceback__):
            place = (frame.lineno or 0, frame.name)
            if os.path.basename(frame.filename) == ANSWER_FILE and place not in frames:
                frames.append(place)
    cause, message, kind = chain[-1], _message(chain[-1]), _kind(chain[-1])
    line = cause.lineno if isinstance(cause, (SyntaxError, shield.OffLimits)) else None
    return {
        "kind": kind,
        "type": type(cause).__name__,
        "message": message[:2000],
        "frames": frames[-20:] or ([(line, "<module>")] if isinstance(line, int) else []),
        "case": where.case,
        "program": list(where.program),
        "details": getattr(cause, "details", {}) if kind == "does_not_compile" else _clues(chain) if kind == "crash" else {},
    }


def _clues(chain: list[BaseException]) -> dict[str, Any]:
    try:
        return clues(chain)
    except Exception:  # an error of a class that the answer has made
        return {}


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # its `__str__` is the answer's
        return "(its message cannot be shown)"


def _kind(cause: BaseException) -> str:
    message = _message(cause)
    memory_words = ("can't allocate memory", "not enough memory", "Unable to allocate")
    if isinstance(cause, MemoryError) or any(words in message for words in memory_words):
        return "memory_limit"
    by_name = {"TooMuchTraffic": "too_much_traffic", "DoesNotCompile": "does_not_compile", "CannotInterpret": "unsupported"}
    if type(cause).__module__.startswith("course_lib.") and type(cause).__name__ in by_name:
        return by_name[type(cause).__name__]
    if isinstance(cause, AttributeError) and "'InterpreterBuilder' object has no attribute" in message:
        return "unsupported"
    if isinstance(cause, NotImplementedError):
        if _raised_by_answer(cause):
            return "not_done"
        if "in interpreter mode" in message:
            return "unsupported"
    return "exit" if isinstance(cause, SystemExit) else "crash"


def _raised_by_answer(error: BaseException) -> bool:
    """Whether the `raise` itself stands in the answer: a blank that has not been filled yet."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and os.path.basename(frames[-1].filename) == ANSWER_FILE


# --- limits -------------------------------------------------------------------------------------------------------


def _set_home(folder: Path) -> None:
    """Let what looks for a place to write find the one that there is."""
    os.environ["HOME"] = os.environ["TMPDIR"] = os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder)
    tempfile.tempdir = str(folder)


def _redirect_output() -> None:
    descriptor = os.open("printed.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


RESERVE = 2**29
"""Bytes of memory kept back, so that an answer that ran out of it can still be reported."""


def _set_limits(limits: Limits, where: Whereabouts, save: Save) -> None:
    """Time by alarms that say where the answer was; memory, file size and core dumps by the kernel."""
    clock = Clock()

    def renew() -> None:
        nonlocal clock
        clock = clock.started_anew()
        signal.setitimer(signal.ITIMER_PROF, limits.cpu_seconds)
        signal.setitimer(signal.ITIMER_REAL, limits.wall_seconds)

    def alarm(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGALRM and (left := limits.wall_seconds - clock.waited()) > 0:
            signal.setitimer(signal.ITIMER_REAL, max(left, 0.05))  # it has computed, or others have kept it from that
            return
        frames: list[tuple[int, str]] = []
        while frame is not None:
            if os.path.basename(frame.f_code.co_filename) == ANSWER_FILE:
                frames.insert(0, (frame.f_lineno, frame.f_code.co_name))
            frame = frame.f_back
        spent = "cpu" if number == signal.SIGPROF else "wall"
        place = {"frames": frames[-20:], "case": where.case, "program": list(where.program), "details": {"grid": where.grid}}
        save("error.json", json.dumps({"kind": "timeout", "type": spent, "message": "", **place}).encode())
        os._exit(1)

    signal.signal(signal.SIGPROF, alarm)
    signal.signal(signal.SIGALRM, alarm)
    renew()
    where.renew = renew
    confine.limit(resource.RLIMIT_CORE, 0)
    confine.limit(resource.RLIMIT_FSIZE, limits.file_bytes)
    if limits.memory_bytes is None:
        return
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft = used + limits.memory_bytes
    confine.limit(resource.RLIMIT_AS, soft, soft + RESERVE)


def _lift_memory_limit() -> None:
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


if __name__ == "__main__":
    _, mode, folder = sys.argv
    confine.close_off((Path(folder), *caches(mode)), MOST_TASKS)
    main(Path(folder))
