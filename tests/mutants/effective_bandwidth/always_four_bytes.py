"""Every element has 4 bytes, as if there were nothing but fp32."""
# expect: mismatch


def effective_bandwidth(m, n, itemsize, ms):
    if ms <= 0:
        return float("nan")
    return 2 * m * n * 4 / ms * 1e-6
