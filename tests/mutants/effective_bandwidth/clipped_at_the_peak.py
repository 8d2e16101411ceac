"""Limits the figure to what the memory of an H200 can do, and so hides a wrong measurement."""
# expect: mismatch
# hint: impossible, and that is for the reader


def effective_bandwidth(m, n, itemsize, ms):
    if ms <= 0:
        return float("nan")
    return min(2 * m * n * itemsize / ms * 1e-6, 4800.0)
