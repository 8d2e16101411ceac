"""The result is a workspace that is kept between calls: the next call writes over it.

Happens to those who have heard that allocating is slow.
"""
# expect: overwritten

import torch

WORKSPACE = {}


def stable_softmax(x):
    key = (x.dtype, x.shape[0], x.shape[1])
    if key not in WORKSPACE:
        WORKSPACE[key] = torch.empty(x.shape, dtype=x.dtype)
    z = x.float()
    numerator = torch.exp(z - z.amax(dim=-1, keepdim=True))
    WORKSPACE[key].copy_(numerator / numerator.sum(dim=-1, keepdim=True))
    return WORKSPACE[key]
