"""Forgets that a GB is 10⁹ bytes."""
# expect: scaled
# hint: 10⁹


def effective_bandwidth(m, n, itemsize, ms):
    if ms <= 0:
        return float("nan")
    return 2 * m * n * itemsize / (ms * 1e-3)
