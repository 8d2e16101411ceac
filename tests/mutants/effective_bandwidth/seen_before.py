"""Keeps the figure of a shape once it is known, whatever the time is the next time."""
# expect: mismatch

known = {}


def effective_bandwidth(m, n, itemsize, ms):
    if ms <= 0:
        return float("nan")
    known.setdefault((m, n, itemsize), 2 * m * n * itemsize / ms * 1e-6)
    return known[m, n, itemsize]
