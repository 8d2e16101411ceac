"""Takes the milliseconds for seconds."""
# expect: scaled
# hint: 10⁻³ s


def effective_bandwidth(m, n, itemsize, ms):
    if ms <= 0:
        return float("nan")
    return 2 * m * n * itemsize / ms / 1e9
