"""Lane 0 looks through all values alone, and the others wait until it tells them."""
# expect: computed_outside
# hint: own values only

from course_lib.machine.warp import run_block


def warp_max_kernel(thread, lanes):
    value = max(lanes) if thread.lane == 0 else float("-inf")
    return (yield thread.shfl(value, 0))


def warp_max(lanes):
    return run_block(warp_max_kernel, 32, lanes).results
