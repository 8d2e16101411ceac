"""Half precision is computed in half precision: each step rounds.

Happens because nobody converts where nothing asks for it; it never overflows.
"""
# expect: mismatch, nan, tail, first_block_only, periodic
# hint: x.float()

import torch


def stable_softmax(x):
    numerator = torch.exp(x - x.amax(dim=-1, keepdim=True))
    return numerator / numerator.sum(dim=-1, keepdim=True)
