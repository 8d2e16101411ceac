"""When a host launches kernels, when the GPU runs them, and what a clock shows that the host reads. Pure arithmetic, in µs.

The host puts launches into a queue and goes on; the GPU takes one after the other. Left out: that the queue has an end, and
that waiting and reading a clock take time of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Wait = Literal["never", "once", "each"]
"""When the host waits for the GPU: not at all, once after the last call, or after each call."""
Span = tuple[float, float]
"""Begin and end."""


@dataclass(frozen=True)
class Timeline:
    """What the host does (`launches`) and the GPU does (`kernels`), in order. A clock of the host runs from 0 to `stopped`."""

    launches: tuple[Span, ...]
    kernels: tuple[Span, ...]
    stopped: float

    @property
    def by_the_host(self) -> float:
        """What the host's clock says of one call."""
        return self.stopped / len(self.kernels)

    @property
    def by_events(self) -> float:
        """What two events say of one call: from the begin of the first kernel to the end of the last, as the GPU saw it."""
        return (self.kernels[-1][1] - self.kernels[0][0]) / len(self.kernels)


def timeline(calls: int, launch: float, kernel: float, wait: Wait = "once", graph: bool = False) -> Timeline:
    """`calls` calls, of which each keeps the host busy for `launch` and the GPU for `kernel`.

    With `graph`, they were recorded before, and one launch is for all. Raises `ValueError` if there are no calls.

    >>> timeline(10, launch=5, kernel=100, wait="never").by_the_host
    5.0
    >>> timeline(10, launch=5, kernel=1).by_events
    4.6
    """
    if calls < 1:
        raise ValueError(f"there must be a call to be timed, not {calls}")
    launches: list[Span] = []
    kernels: list[Span] = []
    host = gpu = 0.0
    for call in range(calls):
        if call == 0 or not graph:
            launches.append((host, host + launch))
            host += launch
        begin = max(host, gpu)
        gpu = begin + kernel
        kernels.append((begin, gpu))
        if wait == "each" and not graph:
            host = gpu
    return Timeline(tuple(launches), tuple(kernels), host if wait == "never" else gpu)
