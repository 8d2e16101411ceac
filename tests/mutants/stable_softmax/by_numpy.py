"""NumPy computes, and torch gets the result.

Happens to those who have written it before. No GPU is used then.
"""
# expect: forbidden, crash
# hint: Stay in torch

import numpy as np
import torch


def stable_softmax(x):
    z = x.float().numpy()
    numerator = np.exp(z - z.max(axis=-1, keepdims=True))
    return torch.from_numpy(numerator / numerator.sum(axis=-1, keepdims=True)).to(x.dtype)
