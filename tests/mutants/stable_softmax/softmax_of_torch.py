"""torch's own softmax.

Happens because it is right, and one line.
"""
# expect: forbidden
# hint: amax

import torch


def stable_softmax(x):
    return torch.nn.functional.softmax(x, dim=-1)
