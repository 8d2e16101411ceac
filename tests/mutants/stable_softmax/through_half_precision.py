"""Everything goes through fp16, fp32 as well: three digits are left.

Happens where a function for half precision is used for all.
"""
# expect: mismatch, tail, first_block_only, periodic, scaled, nan

import torch


def stable_softmax(x):
    z = x.float()
    numerator = torch.exp(z - z.amax(dim=-1, keepdim=True)).half()
    return (numerator / numerator.sum(dim=-1, keepdim=True)).to(x.dtype)
