"""No maximum, but fp64, in which `exp` goes up to 709: the same fault, further out.

Happens because more bits cure many things.
"""
# expect: nan
# hint: No larger format

import torch


def stable_softmax(x):
    numerator = torch.exp(x.double())
    return (numerator / numerator.sum(dim=-1, keepdim=True)).to(x.dtype)
