"""Divides by 2³⁰: that is GiB, and 7 % less than GB."""
# expect: scaled
# hint: 0.93


def effective_bandwidth(m, n, itemsize, ms):
    if ms <= 0:
        return float("nan")
    return 2 * m * n * itemsize / (ms * 1e-3) / 2**30
