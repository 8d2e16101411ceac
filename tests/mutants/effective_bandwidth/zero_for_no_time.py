"""Returns 0 where nothing was measured, which looks like a result."""
# expect: mismatch
# hint: looks like a result


def effective_bandwidth(m, n, itemsize, ms):
    if ms <= 0:
        return 0.0
    return 2 * m * n * itemsize / ms * 1e-6
