"""Every lane reads `lanes`, also where there is no value for it."""
# expect: crash
# hint: every exchange

from course_lib.machine.warp import maximum, run_block


def warp_max_kernel(thread, lanes):
    value = lanes[thread.lane]
    for distance in (16, 8, 4, 2, 1):
        value = maximum(value, (yield thread.shfl_xor(value, distance)))
    return value


def warp_max(lanes):
    return run_block(warp_max_kernel, 32, lanes).results
