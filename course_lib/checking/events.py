"""What a kernel did to memory, as plain values: the views it was given, its launches, its loads and stores.

The interpreter hooks (`hooks/`) record these in the worker's process; `memory.py` judges them and `figures` draws
them in the learner's. Offsets count elements from the start of the storage that a view lies in, so that two views of
one storage can be compared; `Event.elements` gives them relative to the view instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import torch

from course_lib.checking.findings import SourceLine

KIND_CODES = ("load", "store", "atomic")
Update = Literal["", "exchange", "combine", "compare"]
"""What an atomic does with what is there: another value takes its place, as by `tl.atomic_xchg`; the new one is made of it, as
by `tl.atomic_add`; or it decides, as with `tl.atomic_cas`. Empty for loads and stores, and for an atomic load."""
UPDATES: tuple[Update, ...] = get_args(Update)
COLUMNS = 19
"""kind, launch, program x y z, view, line, elements, outside, masked, other, rank, tile sizes (3), barriers, width, locked,
update."""

IntArray = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class View:
    """A tensor that a kernel was given: `name` is the kernel's argument, `storage` numbers the memory behind it.

    `shape` and `stride` are in elements, `offset` is the element of the storage at which the view begins, `itemsize`
    is in bytes. `argument` is the position among the traced function's own arguments, or None for a tensor that the
    function allocated itself. `fresh` says that it is memory from `torch.empty` or the like, which torch has not written to.
    """

    name: str
    storage: int
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    itemsize: int
    argument: int | None = None
    fresh: bool = False

    @property
    def numel(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @cached_property
    def elements(self) -> IntArray:
        """The storage offsets of all elements, in row-major order; shape `[numel]`."""
        grid = np.zeros(self.shape, dtype=np.int64)
        for axis, (size, step) in enumerate(zip(self.shape, self.stride, strict=True)):
            steps = np.arange(size, dtype=np.int64) * step
            grid = grid + steps.reshape([-1 if i == axis else 1 for i in range(len(self.shape))])
        return self.offset + grid.reshape(-1)


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel: its grid, and the views that it was given as pointer arguments.

    `arguments` holds the scalar and `constexpr` arguments by name, as far as they are plain data.
    """

    kernel: str
    grid: tuple[int, int, int]
    views: tuple[View, ...]
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Event:
    """One `tl.load`, `tl.store` or atomic by one program: which elements its active lanes touched.

    `elements` are element offsets from the view's first element, one per active lane inside the view, in lane order.
    `outside` are those of active lanes that lie outside the view: they were not carried out. `lanes` counts all lanes,
    `masked` the inactive ones. `other` says whether a masked load said what its inactive lanes hold. `shape` is the tile's.
    `barriers` counts the `tl.debug_barrier`s that its program had passed. `width` is what a lane
    touches, in bytes; 0 if that begins within an element. `locked` says that its program had put a value in another one's place
    by `tl.atomic_cas` before, and may hold a lock.
    """

    kind: Literal["load", "store", "atomic"]
    launch: int
    program: tuple[int, int, int]
    view: int
    source: SourceLine
    elements: IntArray
    outside: IntArray
    lanes: int
    masked: int
    other: bool = True
    shape: tuple[int, ...] = ()
    barriers: int = 0
    width: int = 0
    locked: bool = False
    update: Update = ""


@dataclass(frozen=True)
class BrokenPromise:
    """A promise to the compiler, such as `tl.multiple_of`, that did not hold: `message` says which one and why.

    Unless `certain`, it matters only if the result depends on what was loaded from places about which it was made.
    """

    launch: int
    program: tuple[int, int, int]
    source: SourceLine
    message: str
    certain: bool


@dataclass(frozen=True)
class Trace:
    """Everything that one call of a function did to memory. See `course_lib.trace`.

    `events` are in the order in which the interpreter ran them: program after program, each from top to bottom. A GPU
    promises no order between programs.
    """

    launches: tuple[Launch, ...]
    events: tuple[Event, ...]
    result: Any = None
    arguments: tuple[Any, ...] = ()
    result_storage: int | None = None
    printed: str = ""

    def view(self, event: Event) -> View:
        """The view that an event's pointer came from."""
        return self.launches[event.launch].views[event.view]

    def reads(self, tensor: torch.Tensor | str) -> list[Event]:
        """The loads and atomics from a tensor: one of the arguments, the result, or the name of a kernel's argument."""
        return [e for e in self._of(tensor) if e.kind != "store"]

    def writes(self, tensor: torch.Tensor | str) -> list[Event]:
        """The stores and atomics to a tensor; see `reads`."""
        return [e for e in self._of(tensor) if e.kind != "load"]

    def traffic(self) -> dict[str, dict[str, int]]:
        """Bytes read and written per kernel argument: ``{"x_ptr": {"read": 4000, "written": 0}, …}``.

        Counts what the lanes asked for. Caches may make the traffic of a real GPU's memory smaller, and a sector of
        32 bytes is the least that it moves.
        """
        totals: dict[str, dict[str, int]] = {}
        for launch in self.launches:
            for view in launch.views:
                totals.setdefault(view.name, {"read": 0, "written": 0})
        for event in self.events:
            view = self.view(event)
            amount = len(event.elements) * view.itemsize
            if event.kind != "store":
                totals[view.name]["read"] += amount
            if event.kind != "load":
                totals[view.name]["written"] += amount
        return totals

    def figure(self, tensor: torch.Tensor | str | None = None) -> Any:
        """A matplotlib figure of which program touched which element of each tensor (or of one)."""
        from course_lib.figures.accesses import draw_accesses

        return draw_accesses(self, tensor)

    def __repr__(self) -> str:
        launched = ", ".join(f"{launch.kernel}[{launch.grid}]" for launch in self.launches) or "no kernel"
        loads = sum(e.kind == "load" for e in self.events)
        stores = sum(e.kind == "store" for e in self.events)
        lines = [f"Trace of {launched}: {loads} loads, {stores} stores, {len(self.events) - loads - stores} atomics"]
        for name, moved in self.traffic().items():
            lines.append(f"  {name}: {moved['read']} bytes read, {moved['written']} bytes written")
        return "\n".join(lines)

    def _of(self, tensor: torch.Tensor | str) -> Iterator[Event]:
        if isinstance(tensor, str):
            names = {view.name for launch in self.launches for view in launch.views}
            if tensor not in names:
                raise ValueError(f"no kernel argument is called {tensor!r}; there are {', '.join(sorted(names))}")
            return (e for e in self.events if self.view(e).name == tensor)
        if tensor is self.result:
            return (e for e in self.events if self.view(e).storage == self.result_storage)
        for position, argument in enumerate(self.arguments):
            if argument is tensor:
                return (e for e in self.events if self.view(e).argument == position)
        raise ValueError("this tensor is neither an argument of the traced call nor its result")
