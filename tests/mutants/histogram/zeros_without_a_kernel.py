"""Zeros, and no kernel: right for an empty vector, and for one without a value in range.

Happens when the case of an empty vector is written first.
"""
# expect: no_kernel

import torch


def histogram(x, bins):
    return torch.zeros(bins, dtype=torch.int32, device=x.device)
