"""A helper with `@triton.jit` works out the address, and the result is a row of a larger tensor."""

import torch
import triton
import triton.language as tl

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
def place(base_ptr, index):
    return base_ptr + index


@triton.jit
def program_ids_kernel(out_ptr):
    mine = tl.program_id(0)
    tl.store(place(out_ptr, mine), mine)


def program_ids(n):
    out = torch.empty(3, n, dtype=torch.int32, device=DEVICE)[1]
    program_ids_kernel[(n,)](out)
    return out
