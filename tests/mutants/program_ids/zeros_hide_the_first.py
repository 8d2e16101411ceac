"""`if pid` leaves program 0 out, and zeros from torch hide it: every value is right, and element 0 was never written.

Happens when a result begins as zeros: what a kernel forgets looks like a zero that it computed.
"""
# expect: unwritten
# hint: number 0 as well

import torch
import triton
import triton.language as tl

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
def program_ids_kernel(out_ptr):
    pid = tl.program_id(0)
    if pid > 0:
        tl.store(out_ptr + pid, pid)


def program_ids(n):
    out = torch.zeros(n, dtype=torch.int32, device=DEVICE)
    program_ids_kernel[(n,)](out)
    return out
