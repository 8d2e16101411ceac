"""Runs a bundle in a fresh process under limits, and brings back what happened as an `Outcome`.

The parent never imports the answer and never shares memory with it. Processes come from a zygote (`zygote.py`), which
is started on first use and kept; where a system cannot fork, each run starts a Python of its own (`worker.py`), slower
but the same.
"""

from __future__ import annotations

import atexit
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from course_lib.checking import wire
from course_lib.checking.bundle import Bundle
from course_lib.checking.outcome import Ending, Outcome, read_outcome


@dataclass(frozen=True)
class Limits:
    """What one run may use: seconds of processor time and of waiting, bytes of memory and of files."""

    cpu_seconds: float = 8.0
    wall_seconds: float = 12.0
    memory_bytes: int | None = 3 * 2**29
    file_bytes: int = 2**30


GRACE = 1.5
"""Seconds between the worker's own alarm, which tells where it was, and its end by force."""


class SandboxError(RuntimeError):
    """The sandbox itself could not work (no space, no processes); says nothing about the answer."""


def run(
    bundle: Bundle,
    cases: list[tuple[Any, ...]],
    *,
    mode: Literal["interpret", "compile", "assemble", "gpu"] = "interpret",
    poisons: bool = True,
    targets: tuple[int, ...] = (),
    launch: dict[str, Any] | None = None,
    limits: Limits | None = None,
) -> Outcome:
    """Call `bundle.name` once for each tuple of arguments in `cases`, in one fresh process.

    In mode "interpret", kernels run in Triton's interpreter, and with `poisons` a call that read masked lanes without `other`
    is repeated with other poison. In mode "compile", every launch is compiled for each compute capability in `targets` (80 is
    sm_80), and nothing is run. In mode "assemble", `bundle.name` is a kernel, and is compiled once as `launch` says (see
    `machine/assembling.py`). In mode "gpu", kernels are compiled and run on this machine's GPU.

    Raises `wire.CannotSend` for arguments that are not plain data, and `SandboxError` when no process can be had.
    """
    limits = limits or Limits()
    folder = Path(tempfile.mkdtemp(prefix="course-"))
    try:
        key = secrets.token_hex(32)
        options = {"mode": mode, "poisons": poisons, "targets": list(targets), "limits": asdict(limits), "key": key}
        _write_request(folder, bundle, cases, {**options, "launch": launch})
        reply = _ZYGOTES["compile" if mode == "assemble" else mode].request(folder, limits.wall_seconds + GRACE)
        try:
            return read_outcome(folder, bundle, Ending(reply["status"], reply["killed"], mode, len(cases), key))
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RuntimeError, OSError) as error:
            raise SandboxError(f"The answer's process left results that cannot be read ({error}).") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def warm() -> None:
    """Begin to start the processes that later runs are forked from; returns at once."""
    for mode in ("interpret", "compile"):
        _ZYGOTES[mode].start()


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


def _environment(mode: str) -> dict[str, str]:
    """The worker's environment: one mode, without the parent's secrets, and without a GPU."""
    kept = "PATH HOME LANG LC_ALL TMPDIR LD_LIBRARY_PATH VIRTUAL_ENV SYSTEMROOT TEMP TMP TRITON_CACHE_DIR TRITON_HOME".split()
    root = str(Path(__file__).resolve().parents[2])
    gpu = {"CUDA_LAUNCH_BLOCKING": "1"} if mode == "gpu" else {"CUDA_VISIBLE_DEVICES": ""}
    kept += ["CUDA_VISIBLE_DEVICES", "CC", "CUDA_HOME"] if mode == "gpu" else []
    return {name: os.environ[name] for name in kept if name in os.environ} | {
        "TRITON_INTERPRET": "1" if mode == "interpret" else "0",
        **gpu,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
        "COURSE_IN_WORKER": "1",
    }


class _Zygote:
    """The process that workers of one mode are forked from, started when first needed. Safe to use from several threads."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.lock = threading.Lock()
        self.process: subprocess.Popen[str] | None = None
        self.ready = False

    def start(self) -> subprocess.Popen[str] | None:
        """The running process, started if need be; None where the system cannot fork."""
        if not hasattr(os, "fork"):
            return None
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "course_lib.checking.zygote", self.mode],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=_environment(self.mode),
                cwd=tempfile.gettempdir(),
                start_new_session=True,
            )
            self.ready = False
        return self.process

    def request(self, folder: Path, kill_after: float) -> dict[str, Any]:
        with self.lock:
            process = self.start()
            if process is None:
                return _run_alone(folder, kill_after, self.mode)
            assert process.stdin is not None and process.stdout is not None
            try:
                if not self.ready:
                    self.ready = bool(process.stdout.readline())
                process.stdin.write(json.dumps({"folder": str(folder), "kill_after": kill_after}) + "\n")
                process.stdin.flush()
                reply = process.stdout.readline()
            except BrokenPipeError:
                reply = ""
            except BaseException:  # an interrupt: the worker ends with its zygote, and the next run starts afresh
                self.stop()
                raise
            if not reply:
                self.stop()
                raise SandboxError(
                    "The checker's own process ended unexpectedly. Run `course doctor`; if it finds nothing, the machine "
                    "may be out of memory."
                )
            return json.loads(reply)

    def stop(self) -> None:
        if self.process is not None:
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    pipe.close()
            try:
                self.process.wait(2)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None


def _run_alone(folder: Path, kill_after: float, mode: str) -> dict[str, Any]:
    """One worker in a Python of its own."""
    start_up = 60.0  # importing torch and Triton, which the answer's own clock does not count
    command = [sys.executable, "-m", "course_lib.checking.worker", str(folder)]
    process = subprocess.Popen(command, env=_environment(mode), stdin=subprocess.DEVNULL)
    try:
        code = process.wait(kill_after + start_up)
        return {"status": code << 8 if code >= 0 else -code, "killed": False}
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return {"status": 9, "killed": True}


_ZYGOTES = {mode: _Zygote(mode) for mode in ("interpret", "compile", "gpu")}
for _zygote in _ZYGOTES.values():
    atexit.register(_zygote.stop)
