"""Counts what the naive softmax moves, 8MN + 4M elements; a fused one moves 2MN."""
# expect: mismatch


def effective_bandwidth(m, n, itemsize, ms):
    if ms <= 0:
        return float("nan")
    return (8 * m * n + 4 * m) * itemsize / ms * 1e-6
