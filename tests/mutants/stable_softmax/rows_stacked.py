"""Row by row, and then stacked: without rows there is nothing to stack.

Happens to those who think of one row at a time.
"""
# expect: crash
# hint: nothing to stack

import torch


def stable_softmax(x):
    rows = []
    for row in x.float():
        numerator = torch.exp(row - row.amax())
        rows.append(numerator / numerator.sum())
    return torch.stack(rows).to(x.dtype)
