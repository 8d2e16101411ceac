"""`x.var`, with the right divisor, and no kernel.

Happens, and is a good answer to another question.
"""
# expect: no_kernel


def row_variance(x):
    return x.var(dim=1, unbiased=False)
