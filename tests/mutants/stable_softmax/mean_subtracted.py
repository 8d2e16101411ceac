"""The mean is subtracted, not the maximum: the largest score may still be far above it.

Happens because any number cancels out, and centring is what one does elsewhere.
"""
# expect: nan
# hint: no mean

import torch


def stable_softmax(x):
    z = x.float()
    numerator = torch.exp(z - z.mean(dim=-1, keepdim=True))
    return (numerator / numerator.sum(dim=-1, keepdim=True)).to(x.dtype)
