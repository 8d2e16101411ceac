"""What keeps it from dividing by 0 is added to the root, and not under it."""
# expect: scaled
# hint: under the root

import math

from course_lib.machine.warp import run_block


def sum_of_lanes(thread, value):
    for distance in (16, 8, 4, 2, 1):
        received = yield thread.shfl_xor(value, distance)
        if (thread.index ^ distance) < thread.n_threads:
            value = value + received
    return value


def normalise_kernel(thread, values):
    value = values[thread.index]
    squares = yield from sum_of_lanes(thread, value * value)

    n_warps = (thread.n_threads + 31) // 32
    partial = thread.shared("partial", 32)
    if thread.lane == 0:
        partial[thread.warp] = squares
    yield thread.syncthreads()

    total = thread.shared("total", 1)
    if thread.warp == 0:
        squares = partial[thread.lane] if thread.lane < n_warps else 0.0
        squares = yield from sum_of_lanes(thread, squares)
        if thread.lane == 0:
            total[0] = squares
    yield thread.syncthreads()

    return value / (math.sqrt(total[0] / thread.n_threads) + 1e-6)


def case_partial_warp(values, n_threads):
    return run_block(normalise_kernel, n_threads, values).results
