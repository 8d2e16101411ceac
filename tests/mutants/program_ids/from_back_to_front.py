"""Program i writes to element n − 1 − i: the ids come out from back to front.

Happens when the kernel is copied from an exercise that turns a vector round.
"""
# expect: not_as_asked

import torch
import triton
import triton.language as tl

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
def program_ids_kernel(out_ptr, n):
    pid = tl.program_id(0)
    tl.store(out_ptr + n - 1 - pid, pid)


def program_ids(n):
    out = torch.empty(n, dtype=torch.int32, device=DEVICE)
    program_ids_kernel[(n,)](out, n)
    return out
