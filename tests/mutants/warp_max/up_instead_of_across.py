"""`shfl_up` in place of `shfl_xor`: values travel to higher lanes only, and a low lane never hears of a high one's."""
# expect: mismatch, first_block_only, tail, periodic
# hint: `shfl_down` it reaches lane 0 only

from course_lib.machine.warp import maximum, run_block


def warp_max_kernel(thread, lanes):
    value = lanes[thread.lane] if thread.lane < len(lanes) else float("-inf")
    for distance in (1, 2, 4, 8, 16):
        value = maximum(value, (yield thread.shfl_up(value, distance)))
    return value


def warp_max(lanes):
    return run_block(warp_max_kernel, 32, lanes).results
