"""A warp of 64 lanes, as on AMD's GPUs, where one of 32 is asked for."""
# expect: not_as_asked

from course_lib.machine.warp import maximum, run_block


def warp_max_kernel(thread, lanes):
    value = lanes[thread.lane] if thread.lane < len(lanes) else float("-inf")
    for distance in (32, 16, 8, 4, 2, 1):
        value = maximum(value, (yield thread.shfl_xor(value, distance)))
    return value


def warp_max(lanes):
    return run_block(warp_max_kernel, 32, lanes, warp_size=64).results
