"""torch makes the copy."""
# expect: no_kernel, torch_compute

import torch
import triton
import triton.language as tl


def vectorised_copy(x):
    return x.clone()
