"""A process that has Triton loaded, in one mode, and forks a worker from itself for every request of that mode.

Importing torch and Triton takes about two seconds; a fork takes some milliseconds. A first line on standard input says what is
hidden from all workers, `{"hidden": […]}`. Then one request a line comes, `{"folder": …, "limits": …}`; one reply a line leaves
on standard output, `{"status": …, "stopped": …}` with the worker's wait status and what it was stopped for, or null: "cpu",
"wall", "processes", "memory", "disk", or "busy" when the machine let it compute too little to tell. When standard input closes,
all this ends and takes the scratch folder along.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import shutil
import signal
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
import torch
import triton

import course_lib
from course_lib.checking import confine, warden, wire, worker
from course_lib.checking.clock import Clock
from course_lib.checking.inside import Whereabouts, case_under_way
from course_lib.checking.limits import MOST_DISK_BYTES, MOST_PROCESSES, MOST_TASKS, Limits, next_end, of_all_cases
from course_lib.checking.warden import Warden

WATCH = 0.1
"""Seconds between two looks at what a worker uses."""


def main(mode: str, scratch: Path) -> None:
    """Serve requests of one mode, whose folders lie in `scratch`, until standard input closes."""
    torch.set_num_threads(1)  # threads do not survive a fork
    above, proc = os.open(scratch.parent, os.O_RDONLY), os.open("/proc", os.O_RDONLY)
    hidden = json.loads(sys.stdin.readline())["hidden"]
    view = confine.View(frozenset(map(Path, hidden)), frozenset((scratch.resolve(), *_needed()))) if hidden else None
    own_mounts = confine.close_off((scratch, *worker.caches(mode)), MOST_TASKS, view)
    if mode != "gpu":  # a process that has begun to use a GPU must not be forked
        _rehearse(mode, scratch)
    gc.freeze()
    own_bytes = _anonymous_bytes("self")
    zygote = Zygote(scratch, above, proc, own_bytes, warden.start(own_mounts), tuple(view.whole()) if view else None)
    if zygote.warden is None:
        confine.adopt_orphans()
    try:
        _say({"ready": True})
        while request := sys.stdin.readline():
            message = json.loads(request)
            _say(zygote.serve(Path(message["folder"]), Limits(**message["limits"])))
    finally:  # nobody listens any more, or what made workers possible is gone
        zygote.leave()


@dataclass(frozen=True)
class Zygote:
    """What serving needs. `above` (the folder that holds `scratch`) and `proc` are open from before they were closed off.

    Workers may read nothing but `readable`, if that is given.
    """

    scratch: Path
    above: int
    proc: int
    own_bytes: int
    warden: Warden | None
    readable: tuple[Path, ...] | None

    def serve(self, folder: Path, limits: Limits) -> dict[str, object]:
        """Run one request in a worker, and end all that it started."""
        me = os.getpid()
        child = os.fork()
        if child == 0:
            self._become_worker(me, folder)
        stopped = self._watch(child, folder, limits)
        _kill_group(child)
        _, status = os.waitpid(child, 0)
        if self.warden:
            self.warden.sweep()
        else:
            _kill_orphans()
        return {"status": status, "stopped": stopped}

    def leave(self) -> NoReturn:
        """End; workers and the warden end with their parent."""
        confine.let_go(self.scratch)
        shutil.rmtree(self.scratch.name, ignore_errors=True, dir_fd=self.above)
        os._exit(0)

    def _become_worker(self, parent: int, folder: Path) -> NoReturn:
        try:
            os.setsid()
            confine.end_with_parent()
            os.close(self.above)
            os.close(self.proc)
            if self.warden:
                self.warden.forget()
            elif os.getppid() != parent:
                os._exit(1)
            worker.main(folder, self.readable)
        finally:
            os._exit(1)

    def _watch(self, child: int, folder: Path, limits: Limits) -> str | None:
        """Wait until the worker ends or has used up one of its limits; says which."""
        whole, free, handle = Clock(str(child), self.proc), _free_bytes(self.scratch), os.pidfd_open(child)
        case, of_case = -1, whole
        try:
            while True:
                if (now := case_under_way(folder)) != case:
                    case, of_case = now, whole.started_anew()
                ends = ((limits, of_case), (of_all_cases(limits), whole))
                kind, left = min(
                    (next_end(some, c.elapsed(), c.computed(), c.queued()) for some, c in ends), key=lambda e: e[1]
                )
                if left <= 0:
                    return kind
                if free - _free_bytes(self.scratch) > MOST_DISK_BYTES:
                    return "disk"
                if excess := self._excess(limits):
                    return excess
                ready, _, _ = select.select([handle, sys.stdin], [], [], min(left, WATCH))
                if handle in ready:
                    return None
                if ready:  # standard input closed
                    _kill_group(child)
                    self.leave()
        finally:
            os.close(handle)

    def _excess(self, limits: Limits) -> str | None:
        """What the processes of an answer have too much of together, where they can be counted."""
        if self.warden is None or not self.warden.own_proc:
            return None
        processes = [name for name in os.listdir("/proc") if name.isdigit() and name != "1"]
        if len(processes) > MOST_PROCESSES:
            return "processes"
        # Each was forked from this process, and shares what it had with it.
        used = sum(max(0, _anonymous_bytes(name) - self.own_bytes) for name in processes)
        return "memory" if limits.memory_bytes is not None and used > limits.memory_bytes + worker.RESERVE else None


def _needed() -> set[Path]:
    """The folders that Python, what is installed in it, and Triton's tools are loaded from."""
    named = (os.environ.get(name, "") for name in ("LD_LIBRARY_PATH", "CUDA_HOME"))
    folders = [sys.prefix, sys.base_prefix, *sys.path, *(one for names in named for one in names.split(os.pathsep))]
    folders += [str(Path(module.__file__).parent) for module in (course_lib, torch, triton) if module.__file__]
    return {real for folder in folders if folder for real in (Path(folder).resolve(),) if real != Path("/")}


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


def _rehearse(mode: str, scratch: Path) -> None:
    """Run one small kernel, so that all that loads on first use is loaded here once and not in every worker."""
    parcel = wire.pack((torch.arange(5.0),), "x")
    here = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="rehearsal-", dir=scratch) as folder:
        os.chdir(folder)
        Path("answer.py").write_text(REHEARSAL)
        np.savez("inputs.npz", **parcel.arrays)  # type: ignore[arg-type]
        request = {
            "answer": "rehearse",
            "cases": [parcel.values],
            "variations": False,
            "works_on": "gpu",
            "targets": [80],
            "code": False,
            "limits": asdict(Limits()),
            "save": lambda *_: None,
        }
        worker.doing(mode)(request, Whereabouts(Path("where.bin")))
        os.chdir(here)


def _say(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _anonymous_bytes(process: str) -> int:
    """Memory of a process that no file stands behind. See proc(5), statm."""
    try:
        fields = Path(f"/proc/{process}/statm").read_text().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")


def _free_bytes(folder: Path) -> int:
    system = os.statvfs(folder)
    return system.f_bavail * system.f_frsize


def _kill_group(child: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


def _kill_orphans() -> None:
    """End every process that the worker left behind, also those that left its group; they are this process's children now."""
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


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
