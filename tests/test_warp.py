"""The simulated block: CUDA's rules for shuffles, barriers and shared memory, and each classic mistake made visible."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from course_lib.machine.trace import Access, Barrier
from course_lib.machine.warp import (
    FULL_MASK,
    UNDEFINED,
    Stuck,
    Thread,
    UndefinedValue,
    maximum,
    minimum,
    run_block,
    source_lane,
)

WIDTHS = (1, 2, 3, 17, 31, 32, 33, 48, 180, 1024)
Kernel = Iterator[Any]


def warp_sum(thread: Thread, numbers: list[float]) -> Kernel:
    """The butterfly, with lanes beyond the end giving 0."""
    value = numbers[thread.lane] if thread.lane < len(numbers) else 0
    for distance in (16, 8, 4, 2, 1):
        value += yield thread.shfl_xor(value, distance)
    return value


def block_sum(thread: Thread, numbers: list[float], first_barrier: bool = True, second_barrier: bool = True) -> Kernel:
    """Each warp's sum into shared memory, and the sum of these to every thread."""
    value = numbers[thread.index] if thread.index < len(numbers) else 0
    for distance in (16, 8, 4, 2, 1):
        value += yield thread.shfl_xor(value, distance)
    n_warps = thread.n_threads // 32
    partial, total = thread.shared("partial", n_warps), thread.shared("total", 1)
    if thread.lane == 0:
        partial[thread.warp] = value
    if first_barrier:
        yield thread.syncthreads()
    if thread.warp == 0:
        value = partial[thread.lane] if thread.lane < n_warps else 0
        for distance in (16, 8, 4, 2, 1):
            value += yield thread.shfl_xor(value, distance)
        if thread.lane == 0:
            total[0] = value
    if second_barrier:
        yield thread.syncthreads()
    return total[0]


def ragged_sum(thread: Thread, numbers: list[float]) -> Kernel:
    """Any number of threads: lanes name those that are there, and take nothing from those that are not."""
    here = min(32, thread.n_threads - 32 * thread.warp)
    value = numbers[thread.index]
    for distance in (16, 8, 4, 2, 1):
        other = yield thread.shfl_down(value, distance, mask=(1 << here) - 1)
        value = value + other if thread.lane + distance < here else value
    partial = thread.shared("partial", 32)
    if thread.lane == 0:
        partial[thread.warp] = value
    yield thread.syncthreads()
    return sum(partial[warp] for warp in range(-(-thread.n_threads // 32)))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("ragged", [False, True])
def test_block_sums_of_any_width_are_plain_sums(width: int, ragged: bool):
    numbers = [int(number) for number in np.random.default_rng(width).integers(-1000, 1000, width)]
    run = run_block(ragged_sum, width, numbers) if ragged else run_block(block_sum, -(-width // 32) * 32, numbers)
    assert set(run.results) == {sum(numbers)}
    assert run.races == ()


@pytest.mark.parametrize("width", [1, 2, 3, 17, 31, 32])
def test_the_butterfly_gives_the_sum_to_every_lane(width: int):
    run = run_block(warp_sum, 32, list(range(1, width + 1)))
    assert run.results == (width * (width + 1) // 2,) * 32
    assert [shuffle.source[0] for shuffle in run.shuffles] == [16, 8, 4, 2, 1]


def test_amds_wavefront_has_sixty_four_lanes():
    def wave_sum(thread: Thread) -> Kernel:
        value = thread.lane
        for distance in (32, 16, 8, 4, 2, 1):
            value += yield thread.shfl_xor(value, distance)
        return value

    run = run_block(wave_sum, 128, warp_size=64)
    assert set(run.results) == {sum(range(64))}
    assert {shuffle.warp for shuffle in run.shuffles} == {0, 1}


def documented_source(op: str, lane: int, operand: int, width: int) -> int:
    """The PTX ISA's own words for shfl.sync, written with its names."""
    segmask = (32 - width) & 0x1F
    clamp = 0 if op == "shfl_up" else 0x1F
    max_lane = (lane & segmask) | (clamp & ~segmask & 0x1F)
    min_lane = lane & segmask
    b = operand & 0x1F
    j, inside = {
        "shfl_up": (lane - b, lane - b >= max_lane),
        "shfl_down": (lane + b, lane + b <= max_lane),
        "shfl_xor": (lane ^ b, (lane ^ b) <= max_lane),
        "shfl": (min_lane | (b & ~segmask & 0x1F), (min_lane | (b & ~segmask & 0x1F)) <= max_lane),
    }[op]
    return j if inside else lane


@pytest.mark.parametrize("op", ["shfl_xor", "shfl_down", "shfl_up", "shfl"])
def test_a_shuffle_reads_from_the_lane_that_the_ptx_isa_names(op: Any):
    for width in (1, 2, 4, 8, 16, 32):
        for operand in range(33):
            got = [source_lane(op, lane, operand, width) for lane in range(32)]
            assert got == [documented_source(op, lane, operand, width) for lane in range(32)], (width, operand)


def test_a_shuffle_reads_what_each_lane_asks_for():
    def reverse(thread: Thread) -> Kernel:
        return (yield thread.shfl(10 * thread.lane, 31 - thread.lane))

    assert run_block(reverse, 32).results == tuple(10 * (31 - lane) for lane in range(32))


def test_a_partial_warp_makes_the_sum_undefined():
    """flashinfer's norm of a block of 180 threads: the last warp has 20 lanes, and 12 that are not there were read."""

    def careless(thread: Thread) -> Kernel:
        value = 1
        for distance in (16, 8, 4, 2, 1):
            value += yield thread.shfl_down(value, distance)
        return value

    run = run_block(careless, 180)
    assert [run.results[32 * warp] for warp in range(6)] == [32, 32, 32, 32, 32, UNDEFINED]
    last = run.shuffles[-1]
    assert last.gave[20:] == (None,) * 12
    assert run.undefined == tuple(range(160, 180))


def test_inactive_lanes_make_a_maximum_undefined_instead_of_zero():
    """A GPU often returns 0 there, which beats every negative number."""

    def warp_max(thread: Thread, numbers: list[float], largest: Callable[[Any, Any], Any]) -> Kernel:
        value = numbers[thread.lane]
        for distance in (8, 4, 2, 1):
            value = largest(value, (yield thread.shfl_xor(value, distance)))
        return value

    numbers = [-float(lane + 1) for lane in range(16)]
    assert set(run_block(warp_max, 16, numbers, maximum).results) == {-1.0}
    assert set(run_block(warp_max, 16, numbers, minimum).results) == {-16.0}
    assert run_block(warp_max, 13, numbers, maximum).undefined == tuple(range(13))
    with pytest.raises(UndefinedValue, match="did not take part"):
        run_block(warp_max, 13, numbers, max)


def test_lanes_outside_the_mask_are_not_read():
    def lower_half(thread: Thread) -> Kernel:
        if thread.lane < 16:
            return (yield thread.shfl_down(thread.lane, 8, mask=0xFFFF))
        return None

    run = run_block(lower_half, 32)
    assert run.results[:8] == tuple(range(8, 16))
    assert run.undefined == tuple(range(8, 16))
    assert run.results[16:] == (None,) * 16


def test_two_branches_with_masks_of_their_own_exchange_apart():
    def halves(thread: Thread) -> Kernel:
        if thread.lane < 16:
            value = yield thread.shfl_xor(thread.lane, 1, mask=0x0000FFFF)
        else:
            value = yield thread.shfl_xor(100 + thread.lane, 1, mask=0xFFFF0000)
        return value

    run = run_block(halves, 32)
    assert run.results == tuple((lane ^ 1) + (100 if lane >= 16 else 0) for lane in range(32))
    assert len(run.shuffles) == 2


def test_a_full_mask_in_a_branch_gets_stuck():
    def diverged(thread: Thread) -> Kernel:
        if thread.lane < 16:
            yield thread.shfl_xor(1, 8)
        yield thread.syncthreads()

    with pytest.raises(Stuck, match=r"threads 0 to 15 at shfl_xor in line \d+; threads 16 to 31 at syncthreads in line \d+"):
        run_block(diverged, 32)


def test_a_barrier_waits_only_for_threads_that_have_not_returned():
    def early_exit(thread: Thread) -> Kernel:
        if thread.warp == 1:
            return "gone"
        yield thread.syncthreads()
        return "through"

    run = run_block(early_exit, 64)
    assert run.results == ("through",) * 32 + ("gone",) * 32
    assert [event for event in run.events if isinstance(event, Barrier)] == [Barrier(1, 32)]


def test_without_the_first_barrier_the_partial_sums_race():
    run = run_block(block_sum, 128, list(range(128)), False)
    assert set(run.results) == {UNDEFINED}
    assert {(race.first.array, race.first.index) for race in run.races} == {("partial", 1), ("partial", 2), ("partial", 3)}
    assert "partial[1]: thread 1 reads and thread 32 writes" in str(run.races[0])


def test_without_the_second_barrier_the_total_races():
    run = run_block(block_sum, 128, list(range(128)), True, False)
    assert {(race.first.array, race.second.kind) for race in run.races} >= {("total", "write")}
    assert set(run.undefined) >= set(range(32, 128))


def exchange_by_memory(thread: Thread, wait: Callable[[Thread], Any] | None) -> Kernel:
    cells = thread.shared("cells", thread.n_threads)
    cells[thread.index] = thread.index
    if wait is not None:
        yield wait(thread)
    return cells[(thread.index + 1) % thread.n_threads]


def test_within_a_warp_syncwarp_is_enough_and_a_shuffle_is_not():
    neighbours = tuple((lane + 1) % 32 for lane in range(32))
    run = run_block(exchange_by_memory, 32, Thread.syncwarp)
    assert (run.results, run.races) == (neighbours, ())
    run = run_block(exchange_by_memory, 32, lambda thread: thread.shfl_xor(0, 1))
    assert run.undefined == tuple(range(32))
    assert len(run.races) == 32


def test_across_warps_syncwarp_is_not_enough():
    run = run_block(exchange_by_memory, 64, Thread.syncwarp)
    assert run.undefined == (31, 63)
    assert run_block(exchange_by_memory, 64, Thread.syncthreads).races == ()


def test_syncwarp_of_some_lanes_orders_only_these():
    def kernel(thread: Thread) -> Kernel:
        cells = thread.shared("cells", 32)
        cells[thread.lane] = thread.lane
        if thread.lane < 16:
            yield thread.syncwarp(0xFFFF)
            return cells[15 - thread.lane], cells[16 + thread.lane]
        return None

    run = run_block(kernel, 32)
    assert [result[0] for result in run.results[:16]] == [15 - lane for lane in range(16)]
    assert [result[1] for result in run.results[:16]] == [UNDEFINED] * 16


def test_what_is_written_after_syncwarp_needs_another():
    def kernel(thread: Thread) -> Kernel:
        cells = thread.shared("cells", 32)
        cells[thread.lane] = 1
        yield thread.syncwarp()
        cells[thread.lane] = 2
        return cells[thread.lane ^ 1]

    assert run_block(kernel, 32).undefined != ()


def test_a_write_after_a_read_races_too():
    def kernel(thread: Thread) -> Kernel:
        cell = thread.shared("cell", 1)
        if thread.index == 0:
            cell[0] = 1
        yield thread.syncthreads()
        seen = cell[0]
        if thread.index == 40:
            cell[0] = 2
        return seen

    run = run_block(kernel, 64)
    readers = {race.first.thread for race in run.races if race.second == Access(40, "write", "cell", 0, 2)}
    assert readers == set(range(40))


def test_shared_memory_that_nobody_wrote_is_undefined():
    assert set(run_block(lambda thread: thread.shared("cells", 4)[thread.lane % 4], 8).results) == {UNDEFINED}


def test_outside_a_shared_array_is_an_error():
    with pytest.raises(IndexError, match=r"thread 4 is at cells\[4\], outside its 4 elements"):
        run_block(lambda thread: thread.shared("cells", 4)[thread.lane], 8)


def test_arrays_of_two_sizes_under_one_name_are_an_error():
    with pytest.raises(ValueError, match="'cells' has 1 elements for one thread and 2 for another"):
        run_block(lambda thread: thread.shared("cells", 1 + thread.index), 2)


@pytest.mark.parametrize("number", [1, 2.5, np.float32(1.5), torch.tensor(2.0), np.int64(3)], ids=repr)
def test_arithmetic_with_an_undefined_value_is_undefined(number: Any):
    for value in (
        number + UNDEFINED,
        UNDEFINED + number,
        number * UNDEFINED,
        UNDEFINED - number,
        number / UNDEFINED,
        -UNDEFINED,
    ):
        assert value is UNDEFINED
    assert maximum(number, UNDEFINED) is minimum(UNDEFINED, number) is UNDEFINED


@pytest.mark.parametrize("use", [bool, float, int, lambda u: u > 1, lambda u: [1, 2][u]])
def test_an_undefined_value_decides_nothing(use: Callable[[Any], Any]):
    with pytest.raises(UndefinedValue):
        use(UNDEFINED)


def test_misuse_is_told():
    def yields_a_number(thread: Thread) -> Kernel:
        yield 3

    def forgotten_lane(thread: Thread) -> Kernel:
        yield thread.shfl_xor(1, 1, mask=0b01)

    with pytest.raises(TypeError, match=r"thread\.syncthreads\(\), not 3"):
        run_block(yields_a_number, 1)
    with pytest.raises(ValueError, match="thread 1 gives a mask that does not name its own lane"):
        run_block(forgotten_lane, 2)
    with pytest.raises(ValueError, match="power of two up to 32, not 3"):
        run_block(lambda thread: thread.shfl_xor(1, 1, width=3), 1)
    for n_threads in (0, 1025):
        with pytest.raises(ValueError, match="from 1 to 1024"):
            run_block(warp_sum, n_threads, [])


def test_a_mask_may_be_written_as_cuda_writes_it():
    def kernel(thread: Thread) -> Kernel:
        mask = 0xFFFFFFFF if thread.lane % 2 else FULL_MASK
        return (yield thread.shfl_xor(thread.lane, 1, mask=mask))

    assert run_block(kernel, 32).results == tuple(lane ^ 1 for lane in range(32))
