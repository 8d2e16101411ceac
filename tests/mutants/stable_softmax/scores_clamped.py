"""Scores are clamped to what `exp` can take, in place of a maximum: those beyond it all become equal.

Happens because nothing overflows any more.
"""
# expect: mismatch, nan, scaled, constant
# hint: no mean, bound

import torch


def stable_softmax(x):
    numerator = torch.exp(x.float().clamp(-80.0, 80.0))
    return (numerator / numerator.sum(dim=-1, keepdim=True)).to(x.dtype)
