"""The sum has no `dim`: each row is divided by the sum of all.

Happens in the second reduction, once the first is right.
"""
# expect: scaled
# hint: over its own row

import torch


def stable_softmax(x):
    z = x.float()
    numerator = torch.exp(z - z.amax(dim=-1, keepdim=True))
    return (numerator / numerator.sum()).to(x.dtype)
