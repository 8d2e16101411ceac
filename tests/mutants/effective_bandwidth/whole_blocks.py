"""Counts the spare lanes of the block, which touch no memory."""
# expect: mismatch


def effective_bandwidth(m, n, itemsize, ms):
    if ms <= 0:
        return float("nan")
    block_size = 1
    while block_size < n:
        block_size *= 2
    return 2 * m * block_size * itemsize / ms * 1e-6
