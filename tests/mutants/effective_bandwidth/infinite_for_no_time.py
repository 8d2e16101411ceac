"""Returns inf for a time of 0, and takes a negative time for a time."""
# expect: mismatch
# hint: nan


def effective_bandwidth(m, n, itemsize, ms):
    if ms == 0:
        return float("inf")
    return 2 * m * n * itemsize / ms * 1e-6
