"""Python's `math.exp`, score by score.

Happens to those who write what a thread does. On a GPU each score would be waited for.
"""
# expect: forbidden
# hint: Stay in torch

import math

import torch


def stable_softmax(x):
    out = torch.empty_like(x)
    for i in range(x.shape[0]):
        maximum = x[i].amax().item()
        numerators = [math.exp(x[i, j].item() - maximum) for j in range(x.shape[1])]
        for j, numerator in enumerate(numerators):
            out[i, j] = numerator / sum(numerators)
    return out
