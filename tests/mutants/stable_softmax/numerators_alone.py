"""The division is missing: the largest share of each row is 1.

Happens when a line is lost.
"""
# expect: scaled, mismatch
# hint: sum

import torch


def stable_softmax(x):
    z = x.float()
    return torch.exp(z - z.amax(dim=-1, keepdim=True)).to(x.dtype)
