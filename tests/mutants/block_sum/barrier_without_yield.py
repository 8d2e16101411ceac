"""The barrier is asked for, and nobody waits: `yield` is missing."""
# expect: shared_race
# hint: `yield`

from course_lib.machine.warp import run_block


def warp_sum(thread, value):
    for distance in (16, 8, 4, 2, 1):
        received = yield thread.shfl_xor(value, distance)
        if (thread.index ^ distance) < thread.n_threads:
            value = value + received
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
    thread.syncthreads()
    if thread.warp == 0:
        value = partial[thread.lane] if thread.lane < n_warps else 0.0
        value = yield from warp_sum(thread, value)
    return value


def block_sum(values, n_threads):
    return run_block(block_sum_kernel, n_threads, values).results[0]
