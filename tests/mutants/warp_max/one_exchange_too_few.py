"""The distances end at 2: even and odd lanes never meet.

Happens to those who count down while the distance is larger than 1.
"""
# expect: periodic, mismatch

from course_lib.machine.warp import maximum, run_block


def warp_max_kernel(thread, lanes):
    value = lanes[thread.lane] if thread.lane < len(lanes) else float("-inf")
    distance = 16
    while distance > 1:
        value = maximum(value, (yield thread.shfl_xor(value, distance)))
        distance //= 2
    return value


def warp_max(lanes):
    return run_block(warp_max_kernel, 32, lanes).results
