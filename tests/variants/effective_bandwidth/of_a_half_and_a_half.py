"""Reading and writing separately, by a helper."""


def rate(n_bytes, ms):
    return n_bytes / (1e6 * ms)


def effective_bandwidth(m, n, itemsize, ms):
    if ms <= 0:
        return float("nan")
    one_way = rate(m * n * itemsize, ms)
    return one_way + one_way
