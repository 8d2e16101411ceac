"""The maximum of the whole matrix, with a way out for matrices without rows.

Happens to those who mend the error of `one_maximum_for_all_rows` and not its cause.
"""
# expect: nan
# hint: maximum of the whole matrix

import torch


def stable_softmax(x):
    if x.shape[0] == 0:
        return torch.empty_like(x)
    numerator = torch.exp(x.float() - x.max().float())
    return (numerator / numerator.sum(dim=-1, keepdim=True)).to(x.dtype)
