"""The pointer is not moved: every program writes its id to element 0, and the last one to arrive wins.

Happens to those who take `out_ptr` for "my element", as if each program were given a pointer of its own.
"""
# expect: race

import torch
import triton
import triton.language as tl

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
def program_ids_kernel(out_ptr):
    tl.store(out_ptr, tl.program_id(0))


def program_ids(n):
    out = torch.empty(n, dtype=torch.int32, device=DEVICE)
    program_ids_kernel[(n,)](out)
    return out
