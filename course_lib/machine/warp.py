"""A block of threads, simulated lane by lane: shuffles, shared memory, barriers, and what goes wrong with them. For teaching.

A kernel is a Python function of one thread, as in CUDA. It runs until it must wait for others, and says so with `yield`:

    def warp_sum(thread, numbers):
        value = numbers[thread.lane]
        for distance in (16, 8, 4, 2, 1):
            value += yield thread.shfl_xor(value, distance)
        return value

    run_block(warp_sum, 32, numbers).results      # what each thread returned

CUDA's rules decide (CUDA C++ Programming Guide, "Warp Shuffle Functions", "Synchronization Functions"; PTX ISA, "shfl.sync",
"bar.sync"). Where they leave a value undefined, it is `UNDEFINED`: from a lane that does not take part, from shared memory
that nobody wrote, from a read that races with a write. A real GPU returns some value instead, often the right one.

Not here: several blocks, global memory (arguments are ordinary Python), atomics, and time.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from course_lib.machine.trace import Access, AccessKind, Barrier, Race, Run, Shuffle, ShuffleOp
from course_lib.machine.undefined import UNDEFINED, UndefinedValue, maximum, minimum

__all__ = [
    "FULL_MASK",
    "UNDEFINED",
    "Stuck",
    "Thread",
    "UndefinedValue",
    "Watch",
    "maximum",
    "minimum",
    "run_block",
    "source_lane",
    "watching",
]

FULL_MASK = -1
"""All lanes of a warp: CUDA's 0xffffffff."""
MOST_THREADS = 1024


@dataclass(frozen=True)
class Waiting:
    """Threads that wait in one line of a kernel, for `what`: "syncthreads", "syncwarp" or a shuffle."""

    what: str
    line: int
    threads: tuple[int, ...]


class Stuck(RuntimeError):
    """Threads wait for each other for ever; the message and `waiting` say who waits where."""

    def __init__(self, waiting: tuple[Waiting, ...]) -> None:
        told = "; ".join(f"{_span(one.threads)} at {one.what} in line {one.line}" for one in waiting)
        super().__init__(
            f"threads wait for others that do not come: {told}. A shuffle and syncwarp wait for every lane that the mask names "
            "and that has not returned, syncthreads for every thread of the block that has not returned"
        )
        self.waiting = waiting


def run_block(kernel: Callable[..., Any], n_threads: int, *arguments: Any, warp_size: int = 32) -> Run:
    """Run `kernel(thread, *arguments)` for each of `n_threads` threads of one block; any number up to 1024.

    `warp_size` is 32 on NVIDIA, 64 on AMD's CDNA. The last warp may be partial: its missing lanes take part in nothing.
    Raises `Stuck` when threads wait for others that will not come, `UndefinedValue` when a thread's way depends on an
    undefined value, and whatever the kernel raises.

    >>> def broadcast(thread, values):
    ...     return (yield thread.shfl(values[thread.lane], 2))
    >>> run_block(broadcast, 4, [10, 11, 12, 13]).results
    (12, 12, 12, 12)
    """
    if not 1 <= n_threads <= MOST_THREADS:
        raise ValueError(f"a block has from 1 to {MOST_THREADS} threads, not {n_threads}")
    watches = _watches.get()
    block = _Block(n_threads, warp_size, deaf=any(watch.deaf for watch in watches))
    error: Exception | None = None
    try:
        block.run(kernel, arguments)
    except Exception as problem:
        error = problem
        raise
    finally:
        for watch in watches:
            watch.runs.append((block.so_far(), error))
    return block.so_far()


@dataclass
class Watch:
    """What `watching` sees: every run, as far as it came, with the error that ended it."""

    deaf: bool
    runs: list[tuple[Run, Exception | None]] = field(default_factory=list)


_watches: ContextVar[tuple[Watch, ...]] = ContextVar("watches", default=())


@contextmanager
def watching(deaf: bool = False) -> Iterator[Watch]:
    """See every block that is run meanwhile. If they are `deaf`, what threads would get from each other is `UNDEFINED`.

    What deaf threads still know, they know without each other.

    >>> def first_of_all(thread, values):
    ...     return (yield thread.shfl(values[thread.lane], 0))
    >>> with watching(deaf=True) as watch:
    ...     run_block(first_of_all, 4, [10, 11, 12, 13]).results
    (10, UNDEFINED, UNDEFINED, UNDEFINED)
    >>> len(watch.runs)
    1
    """
    watch = Watch(deaf)
    before = _watches.set((*_watches.get(), watch))
    try:
        yield watch
    finally:
        _watches.reset(before)


def source_lane(op: ShuffleOp, lane: int, operand: int, width: int = 32, warp_size: int = 32) -> int:
    """The lane that a lane reads from in a shuffle; its own if the source lies outside its group of `width` lanes.

    >>> [source_lane("shfl_down", lane, 1, width=4) for lane in range(4)]
    [1, 2, 3, 3]

    For "shfl_xor" only sources after the group are outside: a lane may read from an earlier group. "shfl" counts within the
    group, modulo its width. Source: PTX ISA, "shfl.sync".
    """
    operand %= warp_size
    first = lane // width * width
    if op == "shfl":
        return first + operand % width
    if op == "shfl_up":
        return lane - operand if lane - operand >= first else lane
    source = lane ^ operand if op == "shfl_xor" else lane + operand
    return source if source < first + width else lane


# --- what a kernel sees ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Exchange:
    op: ShuffleOp
    value: Any
    operand: int
    width: int
    mask: int
    line: int


@dataclass(frozen=True)
class _SyncWarp:
    mask: int
    line: int


@dataclass(frozen=True)
class _SyncThreads:
    line: int


_Request = _Exchange | _SyncWarp | _SyncThreads


class Thread:
    """What a kernel knows of its thread: `index` (threadIdx.x), `lane` and `warp`, `n_threads` (blockDim.x).

    `shared` gives the block's shared memory. All else are ways to wait for other threads, to be used with `yield`.
    """

    def __init__(self, index: int, n_threads: int, warp_size: int, block: _Block) -> None:
        self.index, self.n_threads, self.warp_size = index, n_threads, warp_size
        self.lane, self.warp = index % warp_size, index // warp_size
        self._block = block
        self._barriers = 0
        self._known = [0] * warp_size
        """Up to which step of each lane of the warp this thread knows what that lane did; its own entry is its own step."""
        self._known[self.lane] = 1

    def shared(self, name: str, size: int) -> SharedArray:
        """The block's shared array of this name, undefined at first; the same for every thread. No waiting."""
        return SharedArray(name, self._block.shared_array(name, size), self, self._block)

    def shfl_xor(self, value: Any, lane_mask: int, *, width: int | None = None, mask: int = FULL_MASK) -> _Request:
        """Get the value of the lane whose number differs in the bits of `lane_mask`."""
        return self._exchange("shfl_xor", value, lane_mask, width, mask, _line_of_caller())

    def shfl_down(self, value: Any, delta: int, *, width: int | None = None, mask: int = FULL_MASK) -> _Request:
        """Get the value of the lane that is `delta` higher; its own where there is none in the group."""
        return self._exchange("shfl_down", value, delta, width, mask, _line_of_caller())

    def shfl_up(self, value: Any, delta: int, *, width: int | None = None, mask: int = FULL_MASK) -> _Request:
        """Get the value of the lane that is `delta` lower; its own where there is none in the group."""
        return self._exchange("shfl_up", value, delta, width, mask, _line_of_caller())

    def shfl(self, value: Any, lane: int, *, width: int | None = None, mask: int = FULL_MASK) -> _Request:
        """Get the value of the given lane of the group."""
        return self._exchange("shfl", value, lane, width, mask, _line_of_caller())

    def syncwarp(self, mask: int = FULL_MASK) -> _Request:
        """Wait for the lanes of `mask`; what they wrote to shared memory before can be read after."""
        return _SyncWarp(self._lanes_of(mask), _line_of_caller())

    def syncthreads(self) -> _Request:
        """Wait at a barrier for all threads of the block; what they wrote to shared memory before can be read after."""
        return _SyncThreads(_line_of_caller())

    def _exchange(self, op: ShuffleOp, value: Any, operand: int, width: int | None, mask: int, line: int) -> _Request:
        width = self.warp_size if width is None else width
        if width < 1 or width & (width - 1) or width > self.warp_size:
            raise ValueError(f"a shuffle's width is a power of two up to {self.warp_size}, not {width}")
        return _Exchange(op, value, operand, width, self._lanes_of(mask), line)

    def _lanes_of(self, mask: int) -> int:
        return mask & ((1 << self.warp_size) - 1)


def _line_of_caller() -> int:
    """The line from which the method was called that calls this."""
    return sys._getframe(2).f_lineno


_Stamp = tuple[int, int]
"""When a thread did something: after how many barriers of the block, and in which step of its own."""


@dataclass
class _Cell:
    """One place of shared memory: its value, the last write, and the reads since then, each with its time."""

    value: Any = UNDEFINED
    write: tuple[Access, _Stamp] | None = None
    reads: dict[int, tuple[Access, _Stamp]] = field(default_factory=dict)


@dataclass(frozen=True)
class SharedArray:
    """A shared array as one thread sees it. Reads and writes are noted, and compared with what other threads did."""

    name: str
    cells: list[_Cell] = field(repr=False)
    thread: Thread = field(repr=False)
    block: _Block = field(repr=False)

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, index: int) -> Any:
        cell = self._cell(index)
        unheard = self.block.deaf and cell.write is not None and cell.write[0].thread != self.thread.index
        raced = self.block.raced(self._access("read", index, cell.value, _line_of_caller()), cell)
        return UNDEFINED if raced or unheard else cell.value

    def __setitem__(self, index: int, value: Any) -> None:
        cell = self._cell(index)
        raced = self.block.raced(self._access("write", index, value, _line_of_caller()), cell)
        cell.value = UNDEFINED if raced else value

    def _cell(self, index: int) -> _Cell:
        if not 0 <= index < len(self.cells):
            where = f"thread {self.thread.index} is at {self.name}[{index}]"
            raise IndexError(f"{where}, outside its {len(self.cells)} elements; a GPU would go on, with other memory")
        return self.cells[index]

    def _access(self, kind: AccessKind, index: int, value: Any, line: int) -> Access:
        return Access(self.thread.index, kind, self.name, index, value, line)


# --- what runs it ---------------------------------------------------------------------------------------------------


class _Block:
    """Runs each thread until it waits, and lets those go on that have what they wait for, the first warp foremost."""

    def __init__(self, n_threads: int, warp_size: int, deaf: bool) -> None:
        self.warp_size, self.deaf = warp_size, deaf
        self.threads = [Thread(index, n_threads, warp_size, self) for index in range(n_threads)]
        self.warps = [range(first, min(first + warp_size, n_threads)) for first in range(0, n_threads, warp_size)]
        self.coroutines: list[Any] = []
        self.waiting: dict[int, _Request] = {}
        self.results: list[Any] = [None] * n_threads
        self.arrays: dict[str, list[_Cell]] = {}
        self.events: list[Shuffle | Access | Barrier] = []
        self.races: list[Race] = []

    def run(self, kernel: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        for thread in self.threads:
            started = kernel(thread, *arguments)
            self.coroutines.append(started)
            if inspect.isgenerator(started):
                self._resume(thread.index, None)
            else:  # a kernel that never waits has already returned
                self.results[thread.index] = started
        while self.waiting:
            if not any(self._step(warp) for warp in self.warps) and not self._pass_barrier():
                raise Stuck(self._who_waits())

    def so_far(self) -> Run:
        return Run(tuple(self.results), tuple(self.events), tuple(self.races), self.warp_size)

    def shared_array(self, name: str, size: int) -> list[_Cell]:
        cells = self.arrays.setdefault(name, [_Cell() for _ in range(size)])
        if len(cells) != size:
            raise ValueError(f"the shared array {name!r} has {len(cells)} elements for one thread and {size} for another")
        return cells

    def raced(self, access: Access, cell: _Cell) -> bool:
        """Write an access down, and say whether an earlier write may come before or after it, as it happens."""
        thread = self.threads[access.thread]
        others = [cell.write, *(cell.reads.values() if access.kind == "write" else ())]
        unordered = [one for one, when in filter(None, others) if not self._before(one.thread, when, thread)]
        self.races += [Race(one, access) for one in unordered]
        self.events.append(access)
        stamped = (access, (thread._barriers, thread._known[thread.lane]))
        if access.kind == "write":
            cell.write, cell.reads = stamped, {}
        else:
            cell.reads[access.thread] = stamped
        return any(one.kind == "write" for one in unordered)

    def _before(self, earlier: int, when: _Stamp, thread: Thread) -> bool:
        """Whether something put what another thread did before what this thread does now."""
        barriers, step = when
        if earlier == thread.index or barriers != thread._barriers:
            return True
        return self.threads[earlier].warp == thread.warp and thread._known[self.threads[earlier].lane] >= step

    def _resume(self, index: int, value: Any) -> None:
        """Let a thread go on with what it got, until it waits again or returns."""
        self.waiting.pop(index, None)
        try:
            request = self.coroutines[index].send(value)
        except StopIteration as end:
            self.results[index] = end.value
            return
        if not isinstance(request, _Request):
            raise TypeError(f"a kernel yields what its thread waits for, such as thread.syncthreads(), not {request!r}")
        if not isinstance(request, _SyncThreads) and not request.mask >> self.threads[index].lane & 1:
            raise ValueError(f"thread {index} gives a mask that does not name its own lane; CUDA leaves that undefined")
        self.waiting[index] = request

    def _step(self, warp: range) -> bool:
        """Let the lanes of a warp go on whose whole mask has come to one instruction; say whether there were any."""
        for lanes, request in self._complete(warp):
            if isinstance(request, _Exchange):
                self._exchange(warp, lanes, request.op)
            else:
                self._sync_warp(lanes)
            return True
        return False

    def _complete(self, warp: range) -> Iterator[tuple[list[int], _Request]]:
        """Threads at the same instruction, where none is missing that their mask names and that has not returned."""
        for index in warp:
            request = self.waiting.get(index)
            if request is None or isinstance(request, _SyncThreads):
                continue
            together = [other for other in warp if _alike(self.waiting.get(other), request)]
            named = {other for other in warp if other in self.waiting and request.mask >> (other - warp.start) & 1}
            if named <= set(together):
                yield together, request

    def _exchange(self, warp: range, threads: list[int], op: ShuffleOp) -> None:
        gave: list[Any] = [None] * self.warp_size
        source: list[int | None] = [None] * self.warp_size
        got: list[Any] = [None] * self.warp_size
        lanes = [index - warp.start for index in threads]
        for lane in lanes:
            request = self.waiting[warp.start + lane]
            assert isinstance(request, _Exchange)
            gave[lane] = request.value
            source[lane] = source_lane(op, lane, request.operand, request.width, self.warp_size)
        for lane in lanes:
            there = source[lane]
            got[lane] = gave[there] if there in lanes and not (self.deaf and there != lane) else UNDEFINED
        first = self.waiting[threads[0]]
        self.events.append(Shuffle(self.warps.index(warp), op, tuple(gave), tuple(source), tuple(got), first.line))
        for lane in lanes:
            self._resume(warp.start + lane, got[lane])

    def _sync_warp(self, threads: list[int]) -> None:
        together = [self.threads[index] for index in threads]
        known = [max(steps) for steps in zip(*(thread._known for thread in together), strict=True)]
        for thread in together:
            thread._known = list(known)
            thread._known[thread.lane] += 1
        for index in threads:
            self._resume(index, None)

    def _pass_barrier(self) -> bool:
        """Let all threads go on if every one that has not returned waits at a barrier."""
        if not all(isinstance(request, _SyncThreads) for request in self.waiting.values()):
            return False
        together = sorted(self.waiting)
        for index in together:
            self.threads[index]._barriers += 1
        self.events.append(Barrier(self.threads[together[0]]._barriers, len(together)))
        for index in together:
            self._resume(index, None)
        return True

    def _who_waits(self) -> tuple[Waiting, ...]:
        places: dict[tuple[str, int], list[int]] = {}
        for index, request in sorted(self.waiting.items()):
            names = {_SyncThreads: "syncthreads", _SyncWarp: "syncwarp"}
            what = request.op if isinstance(request, _Exchange) else names[type(request)]
            places.setdefault((what, request.line), []).append(index)
        return tuple(Waiting(what, line, tuple(threads)) for (what, line), threads in places.items())


def _alike(one: _Request | None, other: _Request) -> bool:
    """Whether two threads stand at the same instruction, with the same mask; the lane that each asks for may differ."""
    if isinstance(one, _Exchange) and isinstance(other, _Exchange):
        return (one.op, one.mask) == (other.op, other.mask)
    return isinstance(one, _SyncWarp) and isinstance(other, _SyncWarp) and one.mask == other.mask


def _span(threads: tuple[int, ...]) -> str:
    if len(threads) == 1:
        return f"thread {threads[0]}"
    if len(threads) <= 4:
        return f"threads {', '.join(map(str, threads[:-1]))} and {threads[-1]}"
    whole = threads == tuple(range(threads[0], threads[-1] + 1))
    return f"threads {threads[0]} to {threads[-1]}" if whole else f"{len(threads)} threads from {threads[0]} on"
