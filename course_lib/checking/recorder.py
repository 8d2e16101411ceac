"""The worker's observer: notes every launch and every memory access of a call, and where the call is just now.

Runs inside the worker's process. What it notes leaves as plain arrays (`Recorder.arrays`) and plain JSON
(`Recorder.header`); `outcome.py` turns these back into the values of `events.py` on the other side.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.checking.events import COLUMNS, KIND_CODES
from course_lib.checking.hooks import Access, LaunchState, launching
from course_lib.checking.inside import Whereabouts

MAX_RECORDED = 30_000_000
"""Most element offsets that one case may record: 240 MB. A kernel that touches more is reported, not followed."""

Poison = Literal["nan", "high", "low"]
POISONS: tuple[Poison, ...] = ("nan", "high", "low")
"""The interpreter's `max` and `min` skip NaN, so a call that could be reading poison is run with each of these."""


def poison_value(kind: Poison, limits: Any) -> Any:
    """The poison for a dtype with these limits (an `iinfo` or `finfo`): NaN or a huge value, an extreme integer."""
    if isinstance(limits, (np.iinfo, torch.iinfo)):
        return limits.max if kind == "high" else limits.min
    return {"nan": float("nan"), "high": float(limits.max) / 2, "low": float(limits.min) / 2}[kind]


class TooMuchTraffic(RuntimeError):
    """The kernel made more memory accesses than any sensible answer needs."""


class Recorder:
    """Records one call of the answer, with one kind of poison for what the answer may not rely on."""

    def __init__(self, whereabouts: Whereabouts, poison: Poison) -> None:
        self.where = whereabouts
        self.kind = poison
        self.poisoned = 0
        self.launches: list[dict[str, Any]] = []
        self.rows: list[tuple[int, ...]] = []
        self.touched: list[np.ndarray] = []
        self.recorded = 0
        self.notes: set[str] = set()
        self.barriers = 0
        self.storages: dict[int, int] = {}
        self.arguments: dict[int, int] = {}
        self.keep: list[torch.Tensor] = []

    # -- the observer's side --------------------------------------------------------------------------------------

    def launch_begins(self, launch: LaunchState) -> None:
        self.where.launch = len(self.launches)
        self.where.line = -1
        views = [self.view(name, tensor) for name, tensor in launch.tensors]
        self.launches.append({"kernel": launch.kernel, "grid": launch.grid, "views": views, "arguments": launch.arguments})

    def launch_ends(self, launch: LaunchState) -> None:
        self.where.program, self.where.line = (-1, -1, -1), -1
        self.where.write()

    def program_begins(self, launch: LaunchState, program: tuple[int, int, int]) -> None:
        self.where.program = program
        self.where.write()
        self.barriers = 0

    def barrier(self) -> None:
        self.barriers += 1

    def note(self, what: str) -> None:
        self.notes.add(what)

    def access(self, launch: LaunchState, access: Access) -> None:
        self.where.line = access.frame.f_lineno
        self.where.write()
        elements = access.offsets[access.active & access.inside]
        outside = access.offsets[access.active & ~access.inside]
        masked = access.active.size - len(elements) - len(outside)
        if not access.other:
            self.poisoned += masked
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
            )
        )
        self.touched += (elements, outside)

    def poison(self, dtype: np.dtype) -> Any:
        if dtype.kind == "f":
            return poison_value(self.kind, np.finfo(dtype))
        return self.kind == "high" if dtype.kind == "b" else poison_value(self.kind, np.iinfo(dtype))

    # -- storages and views ---------------------------------------------------------------------------------------

    def storage(self, tensor: torch.Tensor) -> int:
        """The number of a tensor's storage. Storages are kept alive, so that no two share an address."""
        address = tensor.untyped_storage().data_ptr()
        if address == 0:
            return -1
        if address not in self.storages:
            self.storages[address] = len(self.storages)
            self.keep.append(tensor)
        return self.storages[address]

    def view(self, name: str, tensor: torch.Tensor) -> dict[str, Any]:
        """A tensor as plain data; see `events.View`."""
        storage = self.storage(tensor)
        return {
            "name": name,
            "storage": storage,
            "offset": tensor.storage_offset(),
            "shape": list(tensor.shape),
            "stride": list(tensor.stride()),
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "itemsize": tensor.element_size(),
            "argument": self.arguments.get(storage),
        }

    def argument(self, position: int, tensor: torch.Tensor) -> None:
        """Note that this tensor is the call's argument at `position`."""
        self.arguments[self.storage(tensor)] = position

    # -- what leaves the process ----------------------------------------------------------------------------------

    def arrays(self) -> dict[str, np.ndarray]:
        """The events as two arrays: a table of `COLUMNS` numbers an event, and all touched element offsets in a row."""
        return {
            "events": np.array(self.rows, dtype=np.int64).reshape(-1, COLUMNS),
            "touched": np.concatenate(self.touched) if self.touched else np.zeros(0, dtype=np.int64),
        }


VIEWS = frozenset(
    "view _unsafe_view as_strided expand t transpose permute select slice unsqueeze squeeze detach alias diagonal "
    "unbind split split_with_sizes unfold _reshape_alias view_as_real lift_fresh is_same_size".split()
)


class TorchWatch(TorchDispatchMode):
    """Fills fresh tensors with poison, and notes which torch operations the answer itself called."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder
        self.ops: dict[str, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if launching():
            return result
        name = func.overloadpacket.__name__
        if name not in VIEWS:
            self.ops[name] = self.ops.get(name, 0) + 1
        if "empty" in name and isinstance(result, torch.Tensor) and result.numel():
            self.fill(result)
        return result

    def fill(self, fresh: torch.Tensor) -> None:
        """Fill a fresh tensor with what no answer may rely on."""
        if fresh.dtype == torch.bool:
            fresh.fill_(self.recorder.kind == "high")
        elif fresh.is_floating_point():
            fresh.fill_(poison_value(self.recorder.kind, torch.finfo(fresh.dtype)))
        elif not fresh.is_complex():
            fresh.fill_(poison_value(self.recorder.kind, torch.iinfo(fresh.dtype)))
