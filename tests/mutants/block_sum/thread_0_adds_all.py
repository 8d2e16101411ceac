"""Thread 0 adds up all values while the others look on."""
# expect: computed_outside
# hint: its own value

from course_lib.machine.warp import run_block


def block_sum_kernel(thread, values):
    return sum(values) if thread.index == 0 else 0.0


def block_sum(values, n_threads):
    return run_block(block_sum_kernel, n_threads, values).results[0]
