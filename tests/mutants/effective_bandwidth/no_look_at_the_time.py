"""Divides by a time of 0."""
# expect: crash
# hint: Look at `ms`


def effective_bandwidth(m, n, itemsize, ms):
    return 2 * m * n * itemsize / ms * 1e-6
