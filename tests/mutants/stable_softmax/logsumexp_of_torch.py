"""x − logsumexp(x), under `exp`: torch's `logsumexp` subtracts the maximum for you.

Happens to those who know it from statistics.
"""
# expect: forbidden
# hint: subtracts the maximum for you

import torch


def stable_softmax(x):
    z = x.float()
    return torch.exp(z - torch.logsumexp(z, dim=-1, keepdim=True)).to(x.dtype)
