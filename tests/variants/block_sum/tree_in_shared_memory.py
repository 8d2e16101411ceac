"""The old way, without shuffles: half of the threads add the other half's values, until one is left."""

from course_lib.machine.warp import run_block


def block_sum_kernel(thread, values):
    value = 0.0
    for i in range(thread.index, len(values), thread.n_threads):
        value += values[i]
    sums = thread.shared("sums", thread.n_threads)
    sums[thread.index] = value
    yield thread.syncthreads()
    left = thread.n_threads
    while left > 1:
        half = (left + 1) // 2
        if thread.index + half < left:
            sums[thread.index] = sums[thread.index] + sums[thread.index + half]
        yield thread.syncthreads()
        left = half
    return sums[0]


def block_sum(values, n_threads):
    return run_block(block_sum_kernel, n_threads, values).results[0]
