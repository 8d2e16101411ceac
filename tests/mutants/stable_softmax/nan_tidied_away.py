"""Every NaN becomes 0: what went wrong before is not to be seen any more.

Happens to those who have once been bitten by a NaN in a loss.
"""
# expect: mismatch
# hint: tidy

import torch


def stable_softmax(x):
    z = x.float()
    numerator = torch.exp(z - z.amax(dim=-1, keepdim=True))
    return (numerator / numerator.sum(dim=-1, keepdim=True)).nan_to_num(0.0).to(x.dtype)
