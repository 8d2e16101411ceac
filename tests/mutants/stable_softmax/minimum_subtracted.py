"""The minimum is subtracted: all exponents are positive, and the largest ones overflow.

Happens when `amin` is written for `amax`.
"""
# expect: nan
# hint: its own maximum

import torch


def stable_softmax(x):
    z = x.float()
    numerator = torch.exp(z - z.amin(dim=-1, keepdim=True))
    return (numerator / numerator.sum(dim=-1, keepdim=True)).to(x.dtype)
