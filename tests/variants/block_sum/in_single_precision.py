"""With NumPy's numbers of 32 bits, as a GPU would; each thread takes its values as a slice."""

import math

import numpy as np
from course_lib.machine.warp import run_block


def block_sum_kernel(thread, values):
    value = values[thread.index :: thread.n_threads].sum()
    active = min(32, thread.n_threads - 32 * thread.warp)
    for distance in (16, 8, 4, 2, 1):
        received = yield thread.shfl_down(value, distance)
        if thread.lane + distance < active:
            value = value + received
    sums = thread.shared("sums", 32)
    if thread.lane == 0:
        sums[thread.warp] = value
    yield thread.syncthreads()
    if thread.index == 0:
        return math.fsum(sums[warp] for warp in range(math.ceil(thread.n_threads / 32)))


def block_sum(values, n_threads):
    return run_block(block_sum_kernel, n_threads, np.array(values, dtype=np.float32)).results[0]
