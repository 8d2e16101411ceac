"""The grid is `(n - 1,)`, the last id instead of the number of programs: the last element gets no program.

Happens to those who count from 0 and stop at n − 1, and then read the grid as a last index.
"""
# expect: unwritten
# hint: (n,)

import torch
import triton
import triton.language as tl

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
def program_ids_kernel(out_ptr):
    pid = tl.program_id(0)
    tl.store(out_ptr + pid, pid)


def program_ids(n):
    out = torch.empty(n, dtype=torch.int32, device=DEVICE)
    program_ids_kernel[(n - 1,)](out)
    return out
