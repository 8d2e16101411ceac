"""The butterfly of the lesson, unchanged: it adds, and -inf in idle lanes drowns the sum."""
# expect: mismatch

from course_lib.machine.warp import run_block


def warp_max_kernel(thread, lanes):
    value = lanes[thread.lane] if thread.lane < len(lanes) else float("-inf")
    for distance in (16, 8, 4, 2, 1):
        value += yield thread.shfl_xor(value, distance)
    return value


def warp_max(lanes):
    return run_block(warp_max_kernel, 32, lanes).results
