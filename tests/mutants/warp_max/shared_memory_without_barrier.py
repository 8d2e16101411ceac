"""Each lane leaves its value in shared memory and reads all of them, and nobody waits for the writes."""
# expect: shared_race
# hint: `yield thread.syncthreads()`

from course_lib.machine.warp import maximum, run_block


def warp_max_kernel(thread, lanes):
    values = thread.shared("values", 32)
    values[thread.lane] = lanes[thread.lane] if thread.lane < len(lanes) else float("-inf")
    best = values[0]
    for lane in range(1, 32):
        best = maximum(best, values[lane])
    return best


def warp_max(lanes):
    return run_block(warp_max_kernel, 32, lanes).results
