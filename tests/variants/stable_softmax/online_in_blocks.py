"""A running maximum and sum over blocks of columns, the sum scaled whenever the maximum grows."""

import torch


def stable_softmax(x):
    z = x.float()
    maximum = z[:, :1]
    total = torch.ones_like(maximum)
    for block in z[:, 1:].split(100, dim=1):
        if block.shape[1] == 0:
            continue
        larger = torch.maximum(maximum, block.amax(dim=1, keepdim=True))
        scale = torch.where(maximum == larger, 1.0, torch.exp(maximum - larger))
        total = total * scale + torch.exp(block - larger).sum(dim=1, keepdim=True)
        maximum = larger
    return (torch.exp(z - maximum) / total).to(x.dtype)
