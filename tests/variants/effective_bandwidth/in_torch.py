"""A tensor without axes, in fp64, which divides by 0 without an error."""

import torch


def effective_bandwidth(m, n, itemsize, ms):
    bandwidth = torch.tensor(2.0 * m * n * itemsize, dtype=torch.float64) / ms * 1e-6
    return torch.where(torch.tensor(ms > 0), bandwidth, torch.nan)
