"""No `keepdim`: torch takes the vector of maxima for a row.

Happens everywhere; a square matrix even accepts it.
"""
# expect: crash, wrong_shape
# hint: keepdim=True

import torch


def stable_softmax(x):
    z = x.float()
    numerator = torch.exp(z - z.amax(dim=-1))
    return (numerator / numerator.sum(dim=-1)).to(x.dtype)
