"""The inside of the process that runs an answer. It knows inputs and nothing about what is expected.

`main(folder)` reads `request.json` and hands the answer, under limits, to `interpreting.run` or `compiling.run`, which write
what came of it into the folder. When that raises, `error.json` says what; a process that dies on the spot leaves `where.bin`
(see `inside.Whereabouts`) and, after a signal, `fault.txt`.
"""

from __future__ import annotations

import ctypes
import faulthandler
import importlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from pathlib import Path
from types import FrameType
from typing import Any

from course_lib.checking.inside import ANSWER_FILE, Whereabouts

MODES = {
    "interpret": "course_lib.checking.interpreting",
    "compile": "course_lib.checking.compiling",
    "assemble": "course_lib.machine.assembling",
    "gpu": "course_lib.checking.running",
}
"""The module whose `run` does the work. A process has one mode: Triton decides it once, at its import."""


def main(folder: Path) -> None:
    """Run the request that lies in `folder`. Ends the process."""
    os.chdir(folder)
    request = json.loads(Path("request.json").read_text())
    Path("request.json").unlink()  # it holds the key that signs results
    _redirect_output()
    isolate()
    where = Whereabouts(Path("where.bin"))
    faulthandler.enable(open("fault.txt", "w"), all_threads=False)  # noqa: SIM115 - must stay open until the end
    _set_limits(request["limits"], where)
    sys.path[:0] = request["sys_path"]
    try:
        importlib.import_module(MODES[request["mode"]]).run(request, where)
        code = 0
    except BaseException as error:  # the process is the answer's: whatever it raises is the result
        _lift_memory_limit()
        Path("error.json").write_text(json.dumps(describe(error, where)))
        code = 1
    sys.stdout.flush()
    os._exit(code)


# --- when it goes wrong -------------------------------------------------------------------------------------------


def describe(error: BaseException, where: Whereabouts) -> dict[str, Any]:
    """An exception as plain data: its innermost cause, and the lines of the answer that it passed through."""
    frames: list[tuple[int, str]] = []
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        current = current.__cause__ if type(current).__name__ == "InterpreterError" else None
    for link in chain:
        for frame in traceback.extract_tb(link.__traceback__):
            place = (frame.lineno or 0, frame.name)
            if os.path.basename(frame.filename) == ANSWER_FILE and place not in frames:
                frames.append(place)
    cause = chain[-1]
    line = cause.lineno if isinstance(cause, SyntaxError) else None
    return {
        "kind": _kind(cause),
        "type": type(cause).__name__,
        "message": str(cause)[:2000],
        "frames": frames[-20:] or ([(line, "<module>")] if line else []),
        "case": where.case,
        "program": list(where.program),
        "details": getattr(cause, "details", {}),
    }


def _kind(cause: BaseException) -> str:
    memory_words = ("can't allocate memory", "not enough memory", "Unable to allocate")
    if isinstance(cause, MemoryError) or any(words in str(cause) for words in memory_words):
        return "memory_limit"
    by_name = {"TooMuchTraffic": "too_much_traffic", "DoesNotCompile": "does_not_compile", "CannotInterpret": "unsupported"}
    if type(cause).__module__.startswith("course_lib.") and type(cause).__name__ in by_name:
        return by_name[type(cause).__name__]
    if isinstance(cause, AttributeError) and "'InterpreterBuilder' object has no attribute" in str(cause):
        return "unsupported"
    if isinstance(cause, TypeError) and "only 0-dimensional arrays" in str(cause) and not _raised_by_answer(cause):
        return "unsupported"  # Triton 3.6's interpreter with NumPy 2.4 or later
    if isinstance(cause, NotImplementedError):
        if _raised_by_answer(cause):
            return "not_done"
        if "in interpreter mode" in str(cause):
            return "unsupported"
    return "exit" if isinstance(cause, SystemExit) else "crash"


def _raised_by_answer(error: BaseException) -> bool:
    """Whether the `raise` itself stands in the answer: a blank that has not been filled yet."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and os.path.basename(frames[-1].filename) == ANSWER_FILE


# --- limits -------------------------------------------------------------------------------------------------------


CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000  # <linux/sched.h>
MOST_PROCESSES = 128


def isolate() -> None:
    """Give up the network and the right to look into other processes, where the system lets us; harmless where it does not.

    A user namespace of its own keeps the worker from tracing its parent or reading the parent's memory.
    """
    user, group = os.getuid(), os.getgid()
    unshare = getattr(ctypes.CDLL(None), "unshare", None)
    if unshare is None or unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
        return
    for name, content in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        Path(f"/proc/self/{name}").write_text(content)
    resource.setrlimit(resource.RLIMIT_NPROC, (MOST_PROCESSES, MOST_PROCESSES))  # counted within the namespace


def _redirect_output() -> None:
    descriptor = os.open("printed.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


BUSY = 0.1
"""An answer that had at least this share of a processor was computing, not waiting."""


def _set_limits(limits: dict[str, Any], where: Whereabouts) -> None:
    """Time by alarms that say where the answer was; memory, file size and core dumps by the kernel.

    An answer that computes is not waiting, however slowly a busy machine lets it: it gets more time, up to its processor time.
    """
    computed = time.process_time()

    def alarm(number: int, frame: FrameType | None) -> None:
        nonlocal computed
        before, computed = computed, time.process_time()
        if number == signal.SIGALRM and computed - before > BUSY * limits["wall_seconds"]:
            signal.setitimer(signal.ITIMER_REAL, limits["wall_seconds"])
            return
        frames: list[tuple[int, str]] = []
        while frame is not None:
            if os.path.basename(frame.f_code.co_filename) == ANSWER_FILE:
                frames.insert(0, (frame.f_lineno, frame.f_code.co_name))
            frame = frame.f_back
        spent = "cpu" if number == signal.SIGPROF else "wall"
        place = {"frames": frames[-20:], "case": where.case, "program": list(where.program)}
        error = {"kind": "timeout", "type": spent, "message": "", **place}
        Path("error.json").write_text(json.dumps(error))
        os._exit(1)

    signal.signal(signal.SIGPROF, alarm)
    signal.signal(signal.SIGALRM, alarm)
    signal.setitimer(signal.ITIMER_PROF, limits["cpu_seconds"])
    signal.setitimer(signal.ITIMER_REAL, limits["wall_seconds"])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits["file_bytes"], limits["file_bytes"]))
    if limits["memory_bytes"] is None:
        return
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft = used + limits["memory_bytes"]
    resource.setrlimit(resource.RLIMIT_AS, (soft, soft + 2**29))


def _lift_memory_limit() -> None:
    """Take the half gigabyte kept back, so that an answer that ran out of memory can still be reported."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
