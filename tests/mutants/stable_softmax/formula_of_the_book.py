"""The formula as it stands: `exp` of 89 is infinite, and far below 0 every `exp` is 0.

Happens because it is right for the scores that one tries it with.
"""
# expect: nan
# hint: its own maximum

import torch


def stable_softmax(x):
    numerator = torch.exp(x.float())
    return (numerator / numerator.sum(dim=-1, keepdim=True)).to(x.dtype)
