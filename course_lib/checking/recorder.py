"""The worker's observer: notes every launch and every memory access of a call, and where the call is just now.

Runs inside the worker's process. What it notes leaves as plain arrays (`Recorder.arrays`) and plain JSON
(`Recorder.header`); `outcome.py` turns these back into the values of `events.py` on the other side. What torch does in
the launcher is watched by `launcher.py`.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from course_lib.checking.events import COLUMNS, KIND_CODES, UPDATES, IntArray
from course_lib.checking.hooks import Access, LaunchState, Place
from course_lib.checking.hooks.model import BoolArray, CannotInterpret, Program, Promise
from course_lib.checking.inside import Whereabouts
from course_lib.checking.storages import Storages, poison_value

MAX_RECORDED = 30_000_000
"""Most element offsets that one case may record: 240 MB. A kernel that touches more is reported, not followed."""

Order = Literal["forward", "backward", "shuffled"]


@dataclass(frozen=True)
class Variation:
    """What may differ from one run of a call to the next on a GPU, and must not change its result.

    `poison`, one of `inside.POISONS`, fills what the answer has no right to rely on, programs run in `order`, and an autotuned
    kernel takes its configuration number `tuning` (counted around). `name` is that of the result's file.
    """

    name: str = "nan"
    poison: str = "nan"
    order: Order = "forward"
    tuning: int = 0
    measured: bool = False
    """Whether an autotuned kernel has been run before, on the same arguments, to be measured."""
    reordered: bool = False
    """Whether elements come from back to front where the compiler may choose their order, as it may after `tl.view`."""
    deaf: bool = False
    """Whether simulated threads get nothing from each other (`machine.warp.watching`). This does change a result."""


class TooMuchTraffic(RuntimeError):
    """The kernel made more memory accesses than any sensible answer needs."""


class Recorder:
    """Records one call of the answer, in one of its variations."""

    def __init__(self, whereabouts: Whereabouts, variation: Variation) -> None:
        self.where = whereabouts
        self.variation = variation
        self.storages = Storages()
        self.launches: list[dict[str, Any]] = []
        self.rows: list[tuple[int, ...]] = []
        self.touched: list[np.ndarray] = []
        self.recorded = 0
        self.undefined = 0
        """How many lanes read what the answer has no right to rely on."""
        self.atomics = False
        self.configurations = 1
        self.outdated_choice = ""
        """What is said of the first autotuned kernel that ran with an earlier call's choice, if pruning rules it out by now."""
        self.any_order = False
        """Whether the compiler may choose an order of elements."""
        self.notes: set[str] = set()
        self.changed: dict[int, int] = {}
        """The line of the answer by which torch first wrote to an argument, by the argument's position."""
        self.on_cpu: dict[int, int] = {}
        """Lines of the answer in which tensors were made without a device, by the number of their storage."""
        self.unreachable: dict[str, Any] | None = None
        """The first of them that a kernel was given: "launch", "name", "line"."""
        self.elsewhere: set[str] = set()
        """What was started that nothing here observes: "thread", "process"."""
        self.outside: list[dict[str, Any]] = []
        """Tensors whose content changed outside any kernel, and not by torch."""
        self.clashes: list[dict[str, Any]] = []
        """A store after another access of the same program to an element, by another lane, where the order matters."""
        self.stores: dict[int, list[_Stored]] = {}
        self.loads: dict[int, list[_Touched]] = {}
        self.barriers = 0
        self.promises: list[dict[str, Any]] = []
        """The first promise to the compiler that certainly does not hold, and the first that may matter."""
        self.locked = False
        """Whether the program that runs has put a value in another one's place, as it would to take a lock."""

    # -- the observer's side --------------------------------------------------------------------------------------

    def launch_begins(self, launch: LaunchState) -> None:
        self.where.launch = len(self.launches)
        self.where.grid = launch.grid
        self.where.line = -1
        for name, tensor in launch.tensors:
            if not self.storages.adopted(tensor):
                self.verify(name, tensor)
            line = self.on_cpu.get(self.storages.number(tensor))
            if line is not None and self.unreachable is None:
                self.unreachable = {"launch": len(self.launches), "name": name, "line": line}
        views = [self.view(name, tensor) for name, tensor in launch.tensors]
        self.launches.append({"kernel": launch.kernel, "grid": launch.grid, "views": views, "arguments": launch.arguments})

    def launch_ends(self, launch: LaunchState) -> None:
        for _, tensor in launch.tensors:
            self.storages.remember(tensor)
        self.where.program, self.where.line = (-1, -1, -1), -1
        self.where.write()

    def order(self, grid: Program, program: Program) -> Program:
        if self.variation.order == "forward":
            return program
        (x, y, z), (width, height, depth) = program, grid
        place = _permutation(self.variation.order, width * height * depth)[(x * height + y) * depth + z]
        return place // (height * depth), place // depth % height, place % depth

    def program_begins(self, launch: LaunchState, program: Program) -> None:
        self.where.program = program
        self.where.write()
        self.barriers = 0
        self.locked = False
        self.stores, self.loads = {}, {}

    def barrier(self) -> None:
        self.barriers += 1

    def broken_promise(self, promise: Promise, certain: bool) -> None:
        self.undefined += not certain
        if all(earlier["certain"] != certain for earlier in self.promises):
            place = {"launch": len(self.launches) - 1, "program": self.where.program, "line": promise.line}
            self.promises.append({**place, "message": promise.message, "certain": certain})

    def swapped(self) -> None:
        self.locked = True

    def tuning(self, configurations: int) -> int:
        self.configurations = max(self.configurations, configurations)
        return self.variation.tuning % configurations

    def measures(self) -> bool:
        return self.variation.measured

    def outdated(self, kernel: str, chosen: dict[str, Any]) -> None:
        options = ", ".join(f"{name}={value}" for name, value in chosen.items())
        self.outdated_choice = self.outdated_choice or (
            f"`{kernel}` ran with {options}, chosen in an earlier call whose `key` was the same; here `prune_configs_by` would "
            "have left that out."
        )

    def reorders(self) -> bool:
        self.any_order = True
        return self.variation.reordered

    def bounds(self, tensor: torch.Tensor) -> Place | None:
        return self.storages.bounds(tensor)

    def stranger(self) -> None:
        raise CannotInterpret("a pointer was made from a number, so it is not known which tensor it may point into")

    def note(self, what: str) -> None:
        self.notes.add(what)

    def access(self, launch: LaunchState, access: Access) -> None:
        self.where.line = access.frame.f_lineno
        self.where.write()
        elements = access.elements(access.active & access.inside)
        outside = access.elements(access.active & ~access.inside)
        masked = access.active.size - (len(elements) + len(outside)) // access.each
        tensor = launch.tensors[access.view][1]
        self.atomics |= access.kind == "atomic"
        if not access.other:
            self.undefined += masked
        if access.kind != "store" and (unwritten := self.storages.never_written(tensor, elements)):
            self.undefined += unwritten
            if self.storages.is_older(tensor):
                self.outside.append({"name": launch.tensors[access.view][0], "launch": len(self.launches) - 1, "new": True})
        if access.kind != "load":
            self.storages.written(tensor, elements)
        if access.each == 1 and access.stored is not None:
            self._store(tensor, elements, access)
        elif access.each == 1 and access.kind == "load":
            places, lanes = elements + int(tensor.storage_offset()), access.active & access.inside
            loaded = _Touched(places, lanes, len(self.rows), self.barriers)
            self.loads.setdefault(self.storages.number(tensor), []).append(loaded)
        self.recorded += len(elements) + len(outside)
        if self.recorded > MAX_RECORDED:
            raise TooMuchTraffic(f"the kernel touched more than {MAX_RECORDED} elements in this one case")
        tile = access.active.shape
        self.rows.append(
            (
                KIND_CODES.index(access.kind),
                len(self.launches) - 1,
                *access.program,
                access.view,
                access.frame.f_lineno,
                len(elements),
                len(outside),
                masked,
                int(access.other),
                len(tile),
                *(*tile, 0, 0, 0)[:3],
                self.barriers,
                access.width,
                int(self.locked),
                UPDATES.index(access.update),
            )
        )
        self.touched += (elements, outside)

    def poison(self, dtype: np.dtype) -> Any:
        if dtype.kind == "b":
            return self.variation.poison == "high"
        return poison_value(self.variation.poison, np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype))

    # -- the lanes of one program -----------------------------------------------------------------------------------

    def _store(self, tensor: torch.Tensor, elements: IntArray, access: Access) -> None:
        """Look for an element that another lane of this program has loaded, or stored another value to, in no order."""
        assert access.stored is not None
        carried_out, number = access.active & access.inside, self.storages.number(tensor)
        places = elements + int(tensor.storage_offset())
        new = _Stored(places, carried_out, len(self.rows), self.barriers, access.stored[carried_out])
        earlier = self.stores.setdefault(number, [])
        found = ((store, new.differs_from(store)) for store in (new, *filter(new.unordered, earlier)))
        overtaken = ((load, new.overtakes(load)) for load in self.loads.get(number, ()) if new.unordered(load))
        for other, element in (*found, *overtaken):
            if element is not None and not self.clashes:
                place = element - int(tensor.storage_offset())
                self.clashes.append({"event": len(self.rows), "other": other.event, "element": place})
        earlier.append(new)

    # -- storages and views ---------------------------------------------------------------------------------------

    def view(self, name: str, tensor: torch.Tensor) -> dict[str, Any]:
        """A tensor as plain data; see `events.View`."""
        storage = self.storages.number(tensor)
        return {
            "name": name,
            "storage": storage,
            "offset": tensor.storage_offset(),
            "shape": list(tensor.shape),
            "stride": list(tensor.stride()),
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "itemsize": tensor.element_size(),
            "argument": self.storages.arguments.get(storage),
            "fresh": storage in self.storages.unwritten,
        }

    def verify(self, name: str, tensor: torch.Tensor) -> None:
        """Note it if a tensor does not hold what a kernel or torch left in it."""
        if not self.storages.as_remembered(tensor):
            new = self.storages.is_new(tensor)
            self.outside.append({"name": name, "launch": len(self.launches), "new": new})
            self.storages.remember(tensor)

    # -- what leaves the process ----------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """What was noted apart from the accesses, as JSON."""
        return {
            "launches": self.launches,
            "notes": sorted(self.notes),
            "outdated_choice": self.outdated_choice,
            "changed": sorted(self.changed.items()),
            "unreachable": self.unreachable,
            "elsewhere": sorted(self.elsewhere),
            "outside": self.outside,
            "clashes": self.clashes,
            "promises": self.promises,
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """The events as two arrays: a table of `COLUMNS` numbers an event, and all touched element offsets in a row."""
        return {
            "events": np.array(self.rows, dtype=np.int64).reshape(-1, COLUMNS),
            "touched": np.concatenate(self.touched) if self.touched else np.zeros(0, dtype=np.int64),
        }


@functools.lru_cache(maxsize=1)  # asked for once a program, and the same for all of a launch
def _permutation(order: Order, programs: int) -> Sequence[int]:
    if order == "backward":
        return range(programs - 1, -1, -1)
    return random.Random(programs).sample(range(programs), programs)


class _Touched:
    """One load or store by the program that runs: which elements of a storage, and by which lane of the tile each.

    A lane is a lane of a tile of one shape: in a tile of another shape, another thread may hold its element.
    """

    def __init__(self, elements: IntArray, lanes: BoolArray, event: int, barriers: int) -> None:
        self.elements, self.active, self.shape, self.event, self.barriers = elements, lanes, lanes.shape, event, barriers

    @functools.cached_property
    def lanes(self) -> IntArray:
        return np.flatnonzero(self.active)

    @functools.cached_property
    def span(self) -> tuple[int, int]:
        return (int(self.elements.min()), int(self.elements.max())) if len(self.elements) else (0, -1)

    def unordered(self, earlier: _Touched) -> bool:
        """Whether they may concern the same elements, and no barrier lies between them."""
        (low, high), (other_low, other_high) = self.span, earlier.span
        return self.barriers == earlier.barriers and low <= other_high and other_low <= high


class _Stored(_Touched):
    """A store, with the values."""

    def __init__(self, elements: IntArray, lanes: BoolArray, event: int, barriers: int, values: np.ndarray) -> None:
        super().__init__(elements, lanes, event, barriers)
        self.values = values

    def differs_from(self, earlier: _Stored) -> int | None:
        """An element that two lanes stored different values to, of a store and an earlier one, or of a store and itself.

        Two stores by the same lane are in order: a thread's own stores to one place are.
        """
        places, values, lanes = self.elements, self.values, self.lanes
        if earlier is not self:
            others = earlier.lanes if earlier.shape == self.shape else -1 - earlier.lanes
            places, values, lanes = (
                np.concatenate(pair) for pair in ((earlier.elements, places), (earlier.values, values), (others, lanes))
            )
        order = np.argsort(places, kind="stable")
        places, values, lanes = places[order], values[order], lanes[order]
        same = (places[1:] == places[:-1]) & (lanes[1:] != lanes[:-1])
        different = same & (values[1:] != values[:-1]) & ~((values[1:] != values[1:]) & (values[:-1] != values[:-1]))
        return int(places[1:][different][0]) if different.any() else None

    def overtakes(self, load: _Touched) -> int | None:
        """An element that one lane stores to and another one of the same tile has loaded: maybe later, on a GPU.

        In a tile of another shape, such as a sum, what is stored has mostly been made of what was loaded, and is in order.
        """
        if load.shape != self.shape:
            return None
        order = np.argsort(self.elements, kind="stable")
        at = np.searchsorted(self.elements, load.elements, sorter=order)
        found = order[np.minimum(at, len(order) - 1)]
        hit = (self.elements[found] == load.elements) & (self.lanes[found] != load.lanes)
        return int(load.elements[hit][0]) if hit.any() else None
