"""Every program writes its id plus one.

Happens to those who come from a language whose indices begin at 1.
"""
# expect: shifted
# hint: from 0

import torch
import triton
import triton.language as tl

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
def program_ids_kernel(out_ptr):
    pid = tl.program_id(0)
    tl.store(out_ptr + pid, pid + 1)


def program_ids(n):
    out = torch.empty(n, dtype=torch.int32, device=DEVICE)
    program_ids_kernel[(n,)](out)
    return out
