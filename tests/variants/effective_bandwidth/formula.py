"""The formula, in one line."""

import math


def effective_bandwidth(m, n, itemsize, ms):
    return 2 * m * n * itemsize / ms * 1e-6 if ms > 0 else math.nan
