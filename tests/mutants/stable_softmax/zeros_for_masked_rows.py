"""A row of −inf alone becomes zeros, as attention kernels have it. torch says NaN.

Happens to those who take their softmax out of such a kernel.
"""
# expect: mismatch
# hint: torch's answer

import torch


def stable_softmax(x):
    z = x.float()
    maximum = z.amax(dim=-1, keepdim=True)
    numerator = torch.exp(z - torch.where(maximum == -torch.inf, 0.0, maximum))
    total = numerator.sum(dim=-1, keepdim=True)
    return (numerator / torch.where(total == 0, 1.0, total)).to(x.dtype)
