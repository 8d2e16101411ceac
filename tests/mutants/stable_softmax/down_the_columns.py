"""The softmax of each column: `dim=0`.

Happens because axis 0 is what one thinks of as the rows.
"""
# expect: mismatch, constant, transposed, crash
# hint: dim=-1

import torch


def stable_softmax(x):
    z = x.float()
    if x.shape[0] == 0:
        return torch.empty_like(x)
    numerator = torch.exp(z - z.amax(dim=0))
    return (numerator / numerator.sum(dim=0)).to(x.dtype)
