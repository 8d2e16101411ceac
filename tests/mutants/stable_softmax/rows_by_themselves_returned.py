"""A list of rows, not a tensor.

Happens when the loop is right and its end is forgotten.
"""
# expect: wrong_type
# hint: in torch

import torch


def stable_softmax(x):
    rows = []
    for row in x.float():
        numerator = torch.exp(row - row.amax())
        rows.append((numerator / numerator.sum()).to(x.dtype))
    return rows
