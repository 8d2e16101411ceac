"""Lanes without a value return at once, and the others ask them for one.

As in CUDA kernels that begin with `if (lane >= n) return;`.
"""
# expect: undefined_value
# hint: takes part

from course_lib.machine.warp import maximum, run_block


def warp_max_kernel(thread, lanes):
    if thread.lane >= len(lanes):
        return float("-inf")
    value = lanes[thread.lane]
    for distance in (16, 8, 4, 2, 1):
        value = maximum(value, (yield thread.shfl_xor(value, distance)))
    return value


def warp_max(lanes):
    return run_block(warp_max_kernel, 32, lanes).results
