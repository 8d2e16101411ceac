"""Every step in place: the caller's scores are gone.

Happens to those who save memory. `x.float()` of an fp32 tensor is `x` itself.
"""
# expect: input_changed, crash
# hint: the caller's

import torch


def stable_softmax(x):
    z = x.float()
    z -= z.amax(dim=-1, keepdim=True)
    z.exp_()
    z /= z.sum(dim=-1, keepdim=True)
    return z.to(x.dtype)
