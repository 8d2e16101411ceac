"""The maximum is the last one of the sorted row, and the sum a product with ones."""

import torch


def stable_softmax(x):
    z = x.float()
    numerator = (z - z.sort(dim=1).values[:, -1:]).exp()
    ones = torch.ones(x.shape[1], 1, device=x.device)
    return (numerator / (numerator @ ones)).to(x.dtype)
