"""Takes a matrix without rows for a mistake. It moves 0 bytes, in whatever time."""
# expect: nan
# hint: 0 GB


def effective_bandwidth(m, n, itemsize, ms):
    if ms <= 0 or m == 0:
        return float("nan")
    return 2 * m * n * itemsize / ms * 1e-6
