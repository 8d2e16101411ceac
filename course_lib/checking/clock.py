"""How a process has spent its time: it computed, it stood in the queue for a processor, or it waited for something else."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Clock:
    """The clock of one process, running from now on. `proc` is an open descriptor of /proc, or None for the one that is there.

    A process that has ended, and a system that does not tell, count as waiting.
    """

    process: str = "self"
    proc: int | None = None
    begun: float = field(default_factory=time.monotonic)
    before: tuple[float, float] = (0.0, 0.0)
    """What the process had computed and queued when the clock was started."""

    def started_anew(self) -> Clock:
        """A clock of the same process that begins to count now."""
        now = replace(self, before=(0.0, 0.0))
        return replace(self, begun=time.monotonic(), before=(now.computed(), now.queued()))

    def elapsed(self) -> float:
        """Seconds since the clock was started."""
        return time.monotonic() - self.begun

    def computed(self) -> float:
        """Seconds of processor time, of all threads. See proc(5), /proc/pid/stat, fields 14 and 15."""
        try:
            fields = self._read("stat").rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") - self.before[0]

    def queued(self) -> float:
        """Seconds for which the main thread could have computed, and others did.

        See Linux, Documentation/scheduler/sched-stats.rst, /proc/pid/schedstat.
        """
        try:
            return int(self._read("schedstat").split()[1]) / 1e9 - self.before[1]
        except OSError:
            return 0.0

    def waited(self) -> float:
        """Seconds spent on neither."""
        return self.elapsed() - self.computed() - self.queued()

    def _read(self, name: str) -> str:
        path = f"{self.process}/{name}" if self.proc is not None else f"/proc/{self.process}/{name}"
        with open(path, opener=lambda path, flags: os.open(path, flags, dir_fd=self.proc)) as file:
            return file.read()
