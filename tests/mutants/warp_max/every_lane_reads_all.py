"""Every lane reads all values: right, and 32 times the work."""
# expect: computed_outside
# hint: its own value

from course_lib.machine.warp import run_block


def warp_max_kernel(thread, lanes):
    return max(lanes)


def warp_max(lanes):
    return run_block(warp_max_kernel, 32, lanes).results
