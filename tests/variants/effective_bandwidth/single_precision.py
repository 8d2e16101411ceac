"""fp32 throughout: off in the eighth digit."""

import numpy as np


def effective_bandwidth(m, n, itemsize, ms):
    megabytes = np.float32(2 * m * n * itemsize / 1e6)
    return megabytes / np.float32(ms) if ms > 0 else np.float32("nan")
