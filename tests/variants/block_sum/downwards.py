"""Shuffles downwards, and 0 for lanes that do not exist; the total goes to all threads through shared memory."""

from course_lib.machine.warp import run_block


def warp_sum(thread, value):
    for distance in (1, 2, 4, 8, 16):
        received = yield thread.shfl_down(value, distance)
        value = value + (received if thread.lane + distance < 32 and thread.index + distance < thread.n_threads else 0.0)
    return value


def block_sum_kernel(thread, values):
    value = 0.0
    for i in range(thread.index, len(values), thread.n_threads):
        value += values[i]
    value = yield from warp_sum(thread, value)
    n_warps = (thread.n_threads + 31) // 32
    partial = thread.shared("partial", n_warps)
    if thread.lane == 0:
        partial[thread.warp] = value
    total = thread.shared("total", 1)
    yield thread.syncthreads()
    if thread.warp == 0:
        value = partial[thread.lane] if thread.lane < n_warps else 0.0
        value = yield from warp_sum(thread, value)
        if thread.lane == 0:
            total[0] = value
    yield thread.syncthreads()
    return total[0]


def block_sum(values, n_threads):
    return run_block(block_sum_kernel, n_threads, values).results[0]
