"""Counts bits instead of bytes."""
# expect: scaled
# hint: bits are not bytes


def effective_bandwidth(m, n, itemsize, ms):
    if ms <= 0:
        return float("nan")
    return 2 * m * n * 8 * itemsize / ms * 1e-6
