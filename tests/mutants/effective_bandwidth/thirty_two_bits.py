"""Computes the bytes in 32 bits, which wrap beyond 2 GiB."""
# expect: mismatch
# hint: 2³¹

import numpy as np


def effective_bandwidth(m, n, itemsize, ms):
    if ms <= 0:
        return float("nan")
    bytes_moved = np.asarray([2, m, n, itemsize], dtype=np.int32).prod(dtype=np.int32)
    return float(bytes_moved) / ms * 1e-6
