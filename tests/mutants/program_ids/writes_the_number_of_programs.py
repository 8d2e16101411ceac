"""`tl.num_programs` instead of `tl.program_id`: every element holds n.

Happens when one picks the wrong of two names that belong together, as with `gridDim` and `blockIdx`.
"""
# expect: constant

import torch
import triton
import triton.language as tl

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
def program_ids_kernel(out_ptr):
    tl.store(out_ptr + tl.program_id(0), tl.num_programs(0))


def program_ids(n):
    out = torch.empty(n, dtype=torch.int32, device=DEVICE)
    program_ids_kernel[(n,)](out)
    return out
