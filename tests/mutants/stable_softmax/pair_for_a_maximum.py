"""`max` with `dim` returns the values and their places, and both are subtracted.

Happens to those who come from NumPy.
"""
# expect: crash
# hint: .values

import torch


def stable_softmax(x):
    z = x.float()
    numerator = torch.exp(z - z.max(dim=-1, keepdim=True))
    return (numerator / numerator.sum(dim=-1, keepdim=True)).to(x.dtype)
