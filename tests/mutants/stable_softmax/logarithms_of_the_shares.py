"""x − maximum − log(Σ exp): the logarithm of the softmax, not yet under `exp`.

Happens to those who know the log-sum-exp form.
"""
# expect: mismatch, constant

import torch


def stable_softmax(x):
    z = x.float()
    z = z - z.amax(dim=-1, keepdim=True)
    return (z - torch.exp(z).sum(dim=-1, keepdim=True).log()).to(x.dtype)
