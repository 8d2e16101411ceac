"""What the hooks tell an observer, and the state of the patched interpreter."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Protocol

import numpy as np
import torch

from course_lib.checking.events import IntArray, Update
from course_lib.errors import PlainError

BoolArray = np.ndarray[Any, np.dtype[np.bool_]]
Program = tuple[int, int, int]


@dataclass(frozen=True)
class Promise:
    """What a kernel has promised the compiler on a line of its source, and is not so."""

    message: str
    line: int


@dataclass
class LaunchState:
    """The launch under way: its kernel, grid, views, and where each view lies in memory.

    `promise` is the first one that does not hold for some lane of a tile.
    """

    kernel: str
    grid: tuple[int, int, int]
    arguments: dict[str, Any]
    tensors: list[tuple[str, torch.Tensor]] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    promise: Promise | None = None


@dataclass(frozen=True)
class Place:
    """Where a tensor lies: the address of its first element, and which element offsets belong to it.

    `within` is a larger place that bounds this one: a view that reaches beyond it does not own what lies there.
    """

    address: int
    itemsize: int
    extent: int
    covered: BoolArray | None
    within: Place | None = None

    @classmethod
    def of(cls, tensor: torch.Tensor, within: Place | None = None) -> Place:
        if tensor.numel() == 0:
            return cls(tensor.data_ptr(), tensor.element_size(), 0, None, within)
        extent = 1 + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
        covered = None if tensor.is_contiguous() or extent > 2**24 else _covered(tensor, extent)
        return cls(tensor.data_ptr(), tensor.element_size(), extent, covered, within)

    def locate(self, addresses: np.ndarray, width: int) -> tuple[IntArray, BoolArray]:
        """Element offsets of the addresses, and which of them lie inside; `width` is the access's size in bytes."""
        distance = (addresses - np.uint64(self.address)).view(np.int64)
        offsets = distance // self.itemsize
        inside = (distance >= 0) & (distance + width <= self.extent * self.itemsize)
        if width >= self.itemsize:
            inside &= distance % self.itemsize == 0
        if self.covered is not None:
            for further in range(max(1, width // self.itemsize)):
                inside[inside] = self.covered[offsets[inside] + further]
        if self.within is not None:
            inside &= self.within.locate(addresses, width)[1]
        return offsets, inside


def _covered(tensor: torch.Tensor, extent: int) -> BoolArray:
    """Which of `extent` offsets belong to a tensor; its strides may leave gaps, and may meet an element more than once."""
    covered = np.zeros(extent, dtype=np.bool_)
    covered[0] = True
    for size, step in zip(tensor.shape, tensor.stride(), strict=True):
        done = 1  # so many steps along this axis are marked; each round doubles them
        while step and done < size:
            further = min(done, size - done) * step
            covered[further:] |= covered[:-further].copy()
            done *= 2
    return covered


@dataclass(frozen=True)
class Access:
    """One memory operation as the hooks see it, before it is carried out.

    `offsets`, `inside` and `active` have the tile's shape; an access wider than an element covers `each` elements from its
    offset on. `width` is in bytes, or 0 if a stray lane begins within an element. `stored` holds the values of a store.
    """

    kind: str
    program: Program
    view: int
    offsets: IntArray
    inside: BoolArray
    active: BoolArray
    other: bool
    frame: FrameType
    each: int = 1
    width: int = 0
    stored: np.ndarray | None = None
    update: Update = ""

    def elements(self, lanes: BoolArray) -> IntArray:
        """The elements that these lanes touch, lane after lane."""
        touched = self.offsets[lanes]
        return touched if self.each == 1 else (touched[:, None] + np.arange(self.each)).reshape(-1)


class Observer(Protocol):
    """What the hooks report to."""

    def launch_begins(self, launch: LaunchState) -> None: ...

    def launch_ends(self, launch: LaunchState) -> None: ...

    def order(self, grid: Program, program: Program) -> Program:
        """Which program of the grid to run where the interpreter would run `program`; a permutation."""
        ...

    def program_begins(self, launch: LaunchState, program: Program) -> None: ...

    def access(self, launch: LaunchState, access: Access) -> None: ...

    def barrier(self) -> None: ...

    def broken_promise(self, promise: Promise, certain: bool) -> None:
        """A promise to the compiler does not hold; unless `certain`, that matters if the result depends on what is loaded."""
        ...

    def swapped(self) -> None:
        """A `tl.atomic_cas` found what it was to find, and put its value there."""
        ...

    def tuning(self, configurations: int) -> int:
        """Which of so many configurations of an autotuned kernel to run."""
        ...

    def measures(self) -> bool:
        """Whether an autotuned kernel is run once more beforehand, as where its configurations are measured."""
        ...

    def outdated(self, kernel: str, chosen: dict[str, Any]) -> None:
        """An autotuned kernel ran with what an earlier call had chosen, and pruning would not have let through in this one."""
        ...

    def reorders(self) -> bool:
        """Whether what the compiler may put into another order comes in another one."""
        ...

    def bounds(self, tensor: torch.Tensor) -> Place | None:
        """What a tensor may not reach beyond, if there is such a thing."""
        ...

    def stranger(self) -> None:
        """A pointer was made from a number, and points into none of the launch's tensors: nobody knows whose memory it is."""
        ...

    def note(self, what: str) -> None:
        """Something that limits what the interpreter's result says."""
        ...

    def poison(self, dtype: np.dtype) -> Any:
        """What a lane reads that the kernel has no right to rely on."""
        ...


class StrayAccess(PlainError, IndexError):
    """A kernel that ran in this process was about to touch memory outside one of its tensors."""

    def __repr__(self) -> str:  # the interpreter raises an error of its own, whose text is this
        return str(self)


class CannotInterpret(RuntimeError):
    """Something that Triton's interpreter does not do as a GPU does, so that its result would say nothing."""


class State:
    """The state of the patched interpreter: whom to tell, and the launch under way."""

    def __init__(self) -> None:
        self.observer: Observer | None = None
        self.launch: LaunchState | None = None
        self.copying = False
        """Whether the interpreter itself is at work with torch: it copies a launch's arguments."""
        self.tuning = False
        """Whether an autotuned kernel is being measured: then Triton resets and restores arguments by torch."""


state = State()
