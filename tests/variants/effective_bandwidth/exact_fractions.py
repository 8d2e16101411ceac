"""Exact until the end."""

from fractions import Fraction


def effective_bandwidth(m, n, itemsize, ms):
    if not ms > 0:
        return float("nan")
    return float(Fraction(2 * m * n * itemsize) / Fraction(ms) / 10**6)
