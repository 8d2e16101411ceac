"""`x.t()`: the right numbers, and nothing was moved. The elements lie where they lay."""
# expect: no_kernel
# hint: a kernel must

import torch
import triton
import triton.language as tl


def transpose(x):
    return x.t()
