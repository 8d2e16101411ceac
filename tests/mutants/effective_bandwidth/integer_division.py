"""Divides with `//`: whole GB/s, and often 0."""
# expect: mismatch


def effective_bandwidth(m, n, itemsize, ms):
    if ms <= 0:
        return float("nan")
    return 2 * m * n * itemsize * 10**-6 // ms
