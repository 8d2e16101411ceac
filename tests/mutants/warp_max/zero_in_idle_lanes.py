"""Lanes without a value begin with 0, which is larger than any negative value.

Right for sums, and for every warp that has a positive value.
"""
# expect: mismatch
# hint: −∞

from course_lib.machine.warp import maximum, run_block


def warp_max_kernel(thread, lanes):
    value = lanes[thread.lane] if thread.lane < len(lanes) else 0.0
    for distance in (16, 8, 4, 2, 1):
        value = maximum(value, (yield thread.shfl_xor(value, distance)))
    return value


def warp_max(lanes):
    return run_block(warp_max_kernel, 32, lanes).results
