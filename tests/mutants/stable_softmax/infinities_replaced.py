"""Infinities are replaced by large numbers before anything else: a row with an inf gets a share of 1 there.

Happens to those who want no NaN in the result, whatever goes in.
"""
# expect: mismatch
# hint: no care

import torch


def stable_softmax(x):
    z = torch.nan_to_num(x.float(), nan=-1e30, posinf=1e30, neginf=-1e30)
    numerator = torch.exp(z - z.amax(dim=-1, keepdim=True))
    return (numerator / numerator.sum(dim=-1, keepdim=True)).to(x.dtype)
