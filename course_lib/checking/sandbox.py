"""Runs a bundle in a fresh process under limits, and brings back what happened as an `Outcome`.

The parent never imports the answer and never shares memory with it. Processes come from a zygote (`zygote.py`), which
is started on first use and kept; where a system cannot fork, each run starts a Python of its own (`worker.py`), slower
but the same. Requests and results lie in a scratch folder of the zygote's, which goes when either process ends.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import secrets
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np

from course_lib.catalog.model import WorksOn
from course_lib.checking import wire
from course_lib.checking.bundle import Bundle
from course_lib.checking.limits import GRACE as GRACE
from course_lib.checking.limits import Limits as Limits
from course_lib.checking.limits import longest
from course_lib.checking.outcome import Ending, Outcome, printable, read_outcome
from course_lib.doctor.facts import triton_cache

START_UP = 120.0
"""Seconds that a zygote may take to import torch and Triton, from a slow disk as well."""


class SandboxError(RuntimeError):
    """The sandbox itself could not work (no space, no processes); says nothing about the answer."""


def run(
    bundle: Bundle,
    cases: list[tuple[Any, ...]],
    *,
    mode: Literal["interpret", "compile", "assemble", "gpu"] = "interpret",
    variations: bool = True,
    works_on: WorksOn = "gpu",
    targets: tuple[int, ...] = (),
    launch: dict[str, Any] | None = None,
    code: bool = False,
    limits: Limits | None = None,
    exercise: bool = False,
) -> Outcome:
    """Call `bundle.name` once for each tuple of arguments in `cases`, in one fresh process.

    In mode "interpret", kernels run in Triton's interpreter, and with `variations` a call is repeated in the other ways in
    which a GPU might run it: see `interpreting.variations`; `works_on` says what may be returned (`Exercise.works_on`). In mode
    "compile", every launch is compiled for each compute capability in `targets` (80 is sm_80), and nothing is run; with `code`,
    what they were compiled to comes back too. In mode "assemble", `bundle.name` is a kernel, and is compiled once as `launch`
    says (see `machine/assembling.py`). In mode "gpu", kernels are compiled and run on this machine's GPU. The answer to an
    `exercise` cannot import what the course has finished (`shield.FINISHED`).

    Raises `wire.CannotSend` for arguments that are not plain data, and `SandboxError` when no process can be had.
    """
    limits = limits or Limits()
    zygote = _ZYGOTES["compile" if mode == "assemble" else mode]
    with zygote.lock:
        try:
            folder = Path(tempfile.mkdtemp(prefix="run-", dir=zygote.start()))
        except OSError as error:
            raise SandboxError(f"No process can be started here ({error}).") from error
        try:
            key = secrets.token_hex(32)
            options: dict[str, Any] = {"mode": mode, "variations": variations, "targets": list(targets), "key": key}
            options |= {
                "limits": asdict(limits),
                "works_on": works_on,
                "launch": launch,
                "code": code,
                "exercise": exercise,
                "apart": bool(zygote.hidden),
            }
            _write_request(folder, bundle, cases, options)
            reply = zygote.request(folder, limits)
            if reply["stopped"] in TOO_LITTLE:
                raise SandboxError(TOO_LITTLE[reply["stopped"]])
            return _read(folder, bundle, Ending(reply["status"], reply["stopped"], mode, len(cases), key))
        except OSError as error:
            raise SandboxError(f"The answer's inputs could not be handed over ({error}).") from error
        finally:
            _remove(folder)


TOO_LITTLE = {
    "busy": "The machine is too busy: it let the answer compute for so little time that nothing can be said of it. Close other "
    "programs, or wait until they are done, and check again.",
    "disk": "The disk that holds temporary files was filling up while the answer ran. Make room, and check again.",
}
"""What a run is stopped for that may not be the answer's fault."""


def warm() -> None:
    """Begin to start the processes that later runs are forked from; returns at once."""
    for zygote in (_ZYGOTES["interpret"], _ZYGOTES["compile"]):
        if zygote.lock.acquire(blocking=False):  # else it is running something already
            with contextlib.ExitStack() as stack:
                stack.callback(zygote.lock.release)
                zygote.start()


def keep_apart(hidden: Iterable[Path]) -> None:
    """From now on let answers see nothing of each other, as when those of several people are judged: neither what lies in the
    folders `hidden`, nor temporary files that are not their own, nor kernels that were compiled for others.

    The user's home folder and sockets are hidden, too, but for what is installed there. Where the system lets nothing be hidden
    (see `confine.py`), only the compiled kernels are kept apart.
    """
    own = (Path(tempfile.gettempdir()), triton_cache(os.environ), Path.home(), Path("/run/user"))
    folders = frozenset(folder.resolve() for folder in (*hidden, *own)) - {Path("/")}
    for zygote in _ZYGOTES.values():
        with zygote.lock:
            if zygote.hidden != folders:
                zygote.stop()
                zygote.hidden = folders


def _write_request(folder: Path, bundle: Bundle, cases: list[tuple[Any, ...]], options: dict[str, Any]) -> None:
    parcels = [wire.pack(arguments, f"case{number}_") for number, arguments in enumerate(cases)]
    arrays = {name: array for parcel in parcels for name, array in parcel.arrays.items()}
    request = {
        "answer": bundle.name,
        "sys_path": list(bundle.sys_path),
        "cases": [parcel.values for parcel in parcels],
        **options,
    }
    (folder / "answer.py").write_text(bundle.source, encoding="utf-8")
    (folder / "request.json").write_text(json.dumps(request))
    np.savez(folder / "inputs.npz", **arrays)  # type: ignore[arg-type]


def _read(folder: Path, bundle: Bundle, ending: Ending) -> Outcome:
    try:
        return read_outcome(folder, bundle, ending)
    except Exception as error:  # whatever a hostile process leaves behind, this is all that comes of it
        raise SandboxError(f"The answer's process left results that cannot be read ({printable(str(error))}).") from error


def _remove(folder: Path) -> None:
    """Remove a folder that a hostile process may have filled: with folders that cannot be entered, or too deep to walk."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        subprocess.run(["chmod", "-R", "u+rwx", folder], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["rm", "-rf", folder], check=False, stderr=subprocess.DEVNULL)


def _environment(mode: str, own_cache: Path | None = None) -> dict[str, str]:
    """The worker's environment: one mode, without the parent's secrets, and without a GPU.

    What is compiled is kept in `own_cache`, or else in one for all that is checked on this machine.
    """
    kept = "PATH HOME LANG LC_ALL TMPDIR LD_LIBRARY_PATH VIRTUAL_ENV SYSTEMROOT TEMP TMP TRITON_HOME".split()
    root = str(Path(__file__).resolve().parents[2])
    gpu = {"CUDA_LAUNCH_BLOCKING": "1"} if mode == "gpu" else {"CUDA_VISIBLE_DEVICES": ""}
    kept += ["CUDA_VISIBLE_DEVICES", "CC", "CUDA_HOME"] if mode == "gpu" else []
    return {name: os.environ[name] for name in kept if name in os.environ} | {
        "TRITON_INTERPRET": "1" if mode == "interpret" else "0",
        **gpu,
        "OMP_NUM_THREADS": "1",
        # Not the learner's own: an answer can write there, and what it leaves must not be run elsewhere.
        "TRITON_CACHE_DIR": str(own_cache / "compiled" if own_cache else triton_cache(os.environ) / "checked"),
        "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
        "COURSE_IN_WORKER": "1",
        "TORCHDYNAMO_DISABLE": "1",  # what `torch.compile` is given runs as it is, operation by operation
    }


class _Zygote:
    """The process that workers of one mode are forked from, started when first needed. Hold `lock` while you use it."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.lock = threading.Lock()
        self.hidden: frozenset[Path] = frozenset()
        self.process: subprocess.Popen[str] | None = None
        self.scratch: Path | None = None
        self.ready = False

    def start(self) -> Path:
        """See that the process runs, where the system can fork, and return the folder in which its requests have to lie."""
        if self.scratch is None or not self.scratch.exists() or (self.process is not None and self.process.poll() is not None):
            self.stop()
            self.scratch = Path(tempfile.mkdtemp(prefix="course-"))
        if self.process is None and hasattr(os, "fork"):
            self.process = subprocess.Popen(
                # -P: no module is taken from the folder in which answers run
                [sys.executable, "-P", "-m", "course_lib.checking.zygote", self.mode, str(self.scratch)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=_environment(self.mode, self.scratch if self.hidden else None),
                cwd=self.scratch,
                start_new_session=True,
            )
            self.ready = False
            self._say({"hidden": [str(folder) for folder in self.hidden]})
        return self.scratch

    def request(self, folder: Path, limits: Limits) -> dict[str, Any]:
        """Run the request in `folder`, and tell how its worker ended."""
        if self.process is None:
            return _run_alone(folder, limits, self.mode)
        try:
            if not self.ready:
                self._line(START_UP)
                self.ready = True
            self._say({"folder": str(folder), "limits": asdict(limits)})
            return json.loads(self._line(longest(limits) + PATIENCE))
        except BrokenPipeError as error:
            self.stop()
            raise SandboxError(ENDED) from error
        except BaseException:  # an interrupt too: the worker ends with its zygote, and the next run starts afresh
            self.stop()
            raise

    def _say(self, message: dict[str, Any]) -> None:
        assert self.process is not None and self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def _line(self, seconds: float) -> str:
        """The next line that the process says."""
        assert self.process is not None and self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            raise SandboxError(f"The checker's own process did not answer within {seconds:.0f} s.")
        if not (line := self.process.stdout.readline()):
            raise SandboxError(ENDED)
        return line

    def stop(self) -> None:
        """End the process with all that it started, and remove its folder."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                with contextlib.suppress(BrokenPipeError):  # what was not said yet
                    pipe.close()  # type: ignore[union-attr]
        if self.scratch is not None:
            _remove(self.scratch)
        self.process = self.scratch = None

    def leave_to_parent(self) -> None:
        """In a process that was just forked: the zygote, its pipes and its folder are the other one's."""
        if self.process is not None:
            null = os.open(os.devnull, os.O_RDWR)
            for pipe in (self.process.stdin, self.process.stdout):
                os.dup2(null, pipe.fileno())  # type: ignore[union-attr]
            os.close(null)
            _OTHERS.append(self.process)  # closing its pipes could wait for a thread that is not here
        self.lock = threading.Lock()
        self.process = self.scratch = None


PATIENCE = 15.0
"""Seconds more than its longest run that a zygote is given before it counts as lost."""
ENDED = (
    "The checker's own process ended unexpectedly. Run `course doctor`; if it finds nothing, the machine may be out of memory."
)


def _run_alone(folder: Path, limits: Limits, mode: str) -> dict[str, Any]:
    """One worker in a Python of its own."""
    command = [sys.executable, "-P", "-m", "course_lib.checking.worker", mode, str(folder)]
    process = subprocess.Popen(command, env=_environment(mode), stdin=subprocess.DEVNULL)
    try:
        code = process.wait(START_UP + limits.wall_seconds + GRACE)
        return {"status": code << 8 if code >= 0 else -code, "stopped": None}
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return {"status": 9, "stopped": "wall"}


_ZYGOTES = {mode: _Zygote(mode) for mode in ("interpret", "compile", "gpu")}
_OTHERS: list[subprocess.Popen[str]] = []
"""Zygotes of the process from which this one was forked."""

for _zygote in _ZYGOTES.values():
    atexit.register(_zygote.stop)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_zygote.leave_to_parent)
