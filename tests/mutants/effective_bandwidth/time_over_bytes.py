"""The wrong way round: time over bytes."""
# expect: crash, mismatch


def effective_bandwidth(m, n, itemsize, ms):
    if ms <= 0:
        return float("nan")
    return ms * 1e6 / (2 * m * n * itemsize)
