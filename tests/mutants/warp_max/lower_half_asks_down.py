"""Lower lanes ask those above, upper lanes those below, in two instructions.

Each half waits for the other one in another place: a shuffle is one instruction for all lanes of its mask.
"""
# expect: stuck
# hint: out of the `if`

from course_lib.machine.warp import maximum, run_block


def warp_max_kernel(thread, lanes):
    value = lanes[thread.lane] if thread.lane < len(lanes) else float("-inf")
    if thread.lane < 16:
        value = maximum(value, (yield thread.shfl_down(value, 16)))
    else:
        value = maximum(value, (yield thread.shfl_up(value, 16)))
    for distance in (8, 4, 2, 1):
        value = maximum(value, (yield thread.shfl_xor(value, distance)))
    return value


def warp_max(lanes):
    return run_block(warp_max_kernel, 32, lanes).results
