"""The grid lies along axis 0, and the kernel asks for its place along axis 1: everybody is number 0.

Happens when a kernel is cut down from two axes to one.
"""
# expect: race

import torch
import triton
import triton.language as tl

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
def program_ids_kernel(out_ptr):
    pid = tl.program_id(axis=1)
    tl.store(out_ptr + pid, pid)


def program_ids(n):
    out = torch.empty(n, dtype=torch.int32, device=DEVICE)
    program_ids_kernel[(n,)](out)
    return out
