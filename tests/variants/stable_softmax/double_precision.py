"""In fp64, with the maximum subtracted."""

import torch


def stable_softmax(x):
    z = x.to(torch.float64)
    numerator = torch.exp(z - torch.max(z, dim=-1, keepdim=True)[0])
    return torch.divide(numerator, torch.sum(numerator, dim=-1, keepdim=True)).type(x.dtype)
