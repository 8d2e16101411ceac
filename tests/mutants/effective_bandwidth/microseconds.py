"""Takes the milliseconds for microseconds."""
# expect: scaled
# hint: 1000


def effective_bandwidth(m, n, itemsize, ms):
    if ms <= 0:
        return float("nan")
    return 2 * m * n * itemsize / (ms * 1e-6) / 1e9
