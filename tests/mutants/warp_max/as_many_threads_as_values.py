"""Starts a thread for each value instead of a whole warp, and so returns too few results."""
# expect: not_as_asked
# hint: one warp

from course_lib.machine.warp import maximum, run_block


def warp_max_kernel(thread, lanes):
    value = lanes[thread.lane]
    for distance in (16, 8, 4, 2, 1):
        received = yield thread.shfl_xor(value, distance)
        if thread.lane ^ distance < thread.n_threads:
            value = maximum(value, received)
    return value


def warp_max(lanes):
    return run_block(warp_max_kernel, len(lanes), lanes).results
