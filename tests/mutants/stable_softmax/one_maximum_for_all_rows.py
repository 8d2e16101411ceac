"""The maximum of the whole matrix: in a row far below it, every `exp` is 0.

Happens because it is one operation less, and cancels out as well where rows are alike.
"""
# expect: crash
# hint: Each row has a maximum of its own

import torch


def stable_softmax(x):
    numerator = torch.exp(x.float() - x.max().float())
    return (numerator / numerator.sum(dim=-1, keepdim=True)).to(x.dtype)
