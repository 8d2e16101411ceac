"""The result stays fp32 where the input is fp16 or bf16.

Happens when `x.float()` is added, and its counterpart is not.
"""
# expect: wrong_dtype
# hint: .to(x.dtype)

import torch


def stable_softmax(x):
    z = x.float()
    numerator = torch.exp(z - z.amax(dim=-1, keepdim=True))
    return numerator / numerator.sum(dim=-1, keepdim=True)
