"""Rounds to one place, for looks: small figures become 0."""
# expect: mismatch
# hint: not rounded


def effective_bandwidth(m, n, itemsize, ms):
    if ms <= 0:
        return float("nan")
    return round(2 * m * n * itemsize / ms * 1e-6, 1)
