"""The first process of the pid namespace that answers run in: whatever they started ends when it says so.

In such a namespace an answer sees, and can send signals to, nothing but its own processes; the first one is immune to them.
"""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from typing import NoReturn

from course_lib.checking import confine


@dataclass(frozen=True)
class Warden:
    """The zygote's side: pipes to and from the warden, and whether /proc shows the answer's processes only."""

    orders: int
    answers: int
    own_proc: bool

    def sweep(self) -> None:
        """End every process in the namespace; returns when none is left."""
        os.write(self.orders, b".")
        if not os.read(self.answers, 1):
            raise RuntimeError("the first process of the namespace ended")

    def forget(self) -> None:
        """Let go of the warden, in a process that was forked from the zygote."""
        os.close(self.orders)
        os.close(self.answers)


def start(own_mounts: bool) -> Warden | None:
    """Let all future children of this process be born in a pid namespace; None where the system has none to give.

    With mounts of its own, the process gets a /proc that shows this namespace.
    """
    if not confine.unshare(confine.CLONE_NEWPID):
        return None
    (take, orders), (answers, give) = os.pipe(), os.pipe()
    if os.fork() == 0:
        try:
            os.close(orders)
            os.close(answers)
            _serve(take, give, own_mounts)
        finally:
            os._exit(1)
    os.close(take)
    os.close(give)
    return Warden(orders, answers, os.read(answers, 1) == b"p")


def _serve(orders: int, answers: int, own_mounts: bool) -> NoReturn:
    confine.end_with_parent()
    confine.keep_out_others(True)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # signals without a handler do not reach a namespace's first process
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # orphans are not waited for
    os.write(answers, b"p" if own_mounts and confine.own_proc() else b"-")
    while os.read(orders, 1):
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)
        os.write(answers, b".")
    os._exit(0)
