"""Counts what is read, and forgets what is written."""
# expect: scaled
# hint: what is read is written, too


def effective_bandwidth(m, n, itemsize, ms):
    if ms <= 0:
        return float("nan")
    return m * n * itemsize / ms * 1e-6
