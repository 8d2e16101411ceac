"""The numerators are positive, so that dividing by their sum is dividing by their norm."""

import torch
import torch.nn.functional as F


def stable_softmax(x):
    z = x.float()
    numerator = torch.exp(z - z.aminmax(dim=-1, keepdim=True).max)
    return F.normalize(numerator, p=1.0, dim=-1).to(x.dtype)
