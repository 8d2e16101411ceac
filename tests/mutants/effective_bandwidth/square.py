"""Takes the matrix for a square one."""
# expect: mismatch


def effective_bandwidth(m, n, itemsize, ms):
    if ms <= 0:
        return float("nan")
    return 2 * n * n * itemsize / ms * 1e-6
