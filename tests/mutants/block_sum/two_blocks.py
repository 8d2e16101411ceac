"""A second block adds up what the first one's warps have found."""
# expect: not_as_asked

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
    return value


def block_sum(values, n_threads):
    first = run_block(block_sum_kernel, n_threads, values).results[::32]
    return run_block(block_sum_kernel, n_threads, first).results[0]
