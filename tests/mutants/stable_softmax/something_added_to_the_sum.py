"""A small number is added to the sum, lest it be 0: it never is, and the shares are too small.

Happens with habits from other divisions. With 1e-8 it would vanish in rounding.
"""
# expect: mismatch, scaled
# hint: added to the sum

import torch


def stable_softmax(x):
    z = x.float()
    numerator = torch.exp(z - z.amax(dim=-1, keepdim=True))
    return (numerator / (numerator.sum(dim=-1, keepdim=True) + 1e-3)).to(x.dtype)
