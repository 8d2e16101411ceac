"""The distance is never halved, so the loop never ends."""
# expect: timeout

from course_lib.machine.warp import maximum, run_block


def warp_max_kernel(thread, lanes):
    value = lanes[thread.lane] if thread.lane < len(lanes) else float("-inf")
    distance = 16
    while distance > 0:
        value = maximum(value, (yield thread.shfl_xor(value, distance)))
    return value


def warp_max(lanes):
    return run_block(warp_max_kernel, 32, lanes).results
