"""Prints the figure, and returns nothing."""
# expect: wrong_type
# hint: plain number


def effective_bandwidth(m, n, itemsize, ms):
    if ms <= 0:
        return float("nan")
    print(2 * m * n * itemsize / ms * 1e-6)
