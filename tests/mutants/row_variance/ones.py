"""A constant: the variance of standard-normal values is about 1.

Happens to those who look at the numbers first. A wide tolerance would let it by.
"""
# expect: constant

import torch
import triton
import triton.language as tl


@triton.jit
def ones_kernel(out_ptr):
    tl.store(out_ptr + tl.program_id(0), 1.0)


def row_variance(x):
    out = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    ones_kernel[(x.shape[0],)](out)
    return out
