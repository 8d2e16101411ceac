"""Two passes over the columns, each a vector operation."""

import torch


def stable_softmax(x):
    columns = x.float().unbind(dim=1)
    maximum = columns[0]
    for column in columns[1:]:
        maximum = torch.maximum(maximum, column)
    numerators = [torch.exp(column - maximum) for column in columns]
    total = sum(numerators)
    return torch.stack([numerator / total for numerator in numerators], dim=1).to(x.dtype)
