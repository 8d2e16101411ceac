"""A process that has Triton loaded, in one mode, and forks a worker from itself for every request of that mode.

Importing torch and Triton takes about two seconds; a fork takes some milliseconds. One request a line comes on standard
input, `{"folder": …, "kill_after": seconds}`; one reply a line leaves on standard output, `{"status": …, "killed": …}`
with the worker's wait status. When standard input closes, the worker is killed and this process ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from course_lib.checking import wire, worker
from course_lib.checking.inside import Whereabouts

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # <linux/prctl.h>


def main(mode: str) -> None:
    """Serve requests of one mode until standard input closes."""
    torch.set_num_threads(1)  # threads do not survive a fork
    if mode != "gpu":  # a process that has begun to use a GPU must not be forked
        _rehearse(mode)
    gc.freeze()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # a worker's orphans become this process's, so that none gets away
    _say({"ready": True})
    while request := sys.stdin.readline():
        message = json.loads(request)
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            os.setsid()
            _die_with(parent)
            worker.main(Path(message["folder"]))
        _say(_wait(child, message["kill_after"]))


REHEARSAL = """
import torch, triton, triton.language as tl

@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask, other=0.0), mask=mask)

def rehearse(x):
    out = torch.empty_like(x)
    copy_kernel[(triton.cdiv(x.numel(), 4),)](x, out, x.numel(), BLOCK=4)
    return out
"""


def _rehearse(mode: str) -> None:
    """Run one small kernel, so that all that loads on first use is loaded here once and not in every worker."""
    parcel = wire.pack((torch.arange(5.0),), "x")
    request = {"answer": "rehearse", "cases": [parcel.values], "variations": False, "targets": [80], "key": "00"}
    here = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="course-rehearsal-") as folder:
        os.chdir(folder)
        Path("answer.py").write_text(REHEARSAL)
        np.savez("inputs.npz", **parcel.arrays)  # type: ignore[arg-type]
        importlib.import_module(worker.MODES[mode]).run(request, Whereabouts(Path("where.bin")))
        os.chdir(here)


def _say(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _wait(child: int, seconds: float) -> dict[str, object]:
    """Wait for the worker, and kill it with all its group when the time is up or nobody listens any more."""
    handle = os.pidfd_open(child)
    deadline = time.monotonic() + seconds
    last = deadline + 3 * seconds
    computed = 0.0
    killed = False
    while True:
        left = max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select([handle, sys.stdin], [], [], left)
        if handle in ready:
            break
        before, computed = computed, _processor_seconds(child)
        if not ready and worker.BUSY * seconds < computed - before and computed < 0.7 * seconds and deadline < last:
            deadline += seconds  # on a busy machine: it computes, and has not had its processor time yet
            continue
        killed = not ready
        _kill_group(child)
        if ready:  # standard input closed, or somebody broke the protocol: end the worker and leave
            os.waitpid(child, 0)
            os._exit(0)
    os.close(handle)
    _, status = os.waitpid(child, 0)
    _kill_group(child)
    _kill_orphans()
    return {"status": status, "killed": killed}


def _processor_seconds(child: int) -> float:
    """How long a process has computed so far. See proc(5), /proc/pid/stat, fields 14 and 15."""
    try:
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _kill_group(child: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


def _kill_orphans() -> None:
    """End every process that the worker left behind, also those that left its group."""
    me = os.getpid()
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and _parent_of(entry) == me:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(entry.name), signal.SIGKILL)


def _parent_of(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _die_with(parent: int) -> None:
    """Let the kernel kill this process when its parent dies."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1])
