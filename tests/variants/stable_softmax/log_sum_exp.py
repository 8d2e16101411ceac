"""By the logarithm of the sum, written out."""

import torch


def stable_softmax(x):
    z = x.float()
    z = z - z.amax(dim=-1, keepdim=True)
    return torch.exp(z - z.exp().sum(dim=-1, keepdim=True).log()).to(x.dtype)
