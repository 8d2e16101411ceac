"""`torch.empty(n)` without a dtype: the ids are stored as 0.0, 1.0, 2.0, …

Happens because a comparison calls 2.0 and 2 equal; from 2²⁴ on, neighbouring ids would become the same number.
"""
# expect: wrong_dtype

import torch
import triton
import triton.language as tl

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
def program_ids_kernel(out_ptr):
    pid = tl.program_id(0)
    tl.store(out_ptr + pid, pid)


def program_ids(n):
    out = torch.empty(n, device=DEVICE)
    program_ids_kernel[(n,)](out)
    return out
