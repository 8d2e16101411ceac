"""Each thread adds up its own values, and Python adds up what they return."""
# expect: computed_outside

from course_lib.machine.warp import run_block


def block_sum_kernel(thread, values):
    value = 0.0
    for i in range(thread.index, len(values), thread.n_threads):
        value += values[i]
    return value


def block_sum(values, n_threads):
    return sum(run_block(block_sum_kernel, n_threads, values).results)
