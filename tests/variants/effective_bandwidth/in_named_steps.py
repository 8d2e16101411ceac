"""Step by step, each with its unit."""

import math

READS, WRITES = 1, 1


def effective_bandwidth(m, n, itemsize, ms):
    if ms <= 0:
        return math.nan
    n_bytes = (READS + WRITES) * m * n * itemsize
    seconds = ms * 1e-3
    return n_bytes / seconds / 1e9
