"""No program ever runs: torch counts.

Happens when only the numbers are asked for, and not who wrote them.
"""
# expect: no_kernel

import torch


def program_ids(n):
    return torch.arange(n, dtype=torch.int32)
