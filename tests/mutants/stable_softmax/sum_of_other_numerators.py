"""The maximum is subtracted above the line only; below it stands the formula of the book.

Happens because the maximum "cancels out".
"""
# expect: mismatch, scaled, nan

import torch


def stable_softmax(x):
    z = x.float()
    numerator = torch.exp(z - z.amax(dim=-1, keepdim=True))
    return (numerator / torch.exp(z).sum(dim=-1, keepdim=True)).to(x.dtype)
