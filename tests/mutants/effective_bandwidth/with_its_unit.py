"""Returns text, with the unit in it."""
# expect: wrong_type
# hint: plain number


def effective_bandwidth(m, n, itemsize, ms):
    if ms <= 0:
        return float("nan")
    return f"{2 * m * n * itemsize / ms * 1e-6:.0f} GB/s"
