"""The kernel collects its places in a list comprehension, as Python would; there are no Python lists on a GPU.

Happens in the interpreter, where anything goes.
"""
# expect: does_not_compile
# hint: no lists

import torch
import triton
import triton.language as tl

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
def program_ids_kernel(out_ptr):
    pid = tl.program_id(0)
    places = [out_ptr + pid + i for i in range(1)]
    tl.store(places[0], pid)


def program_ids(n):
    out = torch.empty(n, dtype=torch.int32, device=DEVICE)
    program_ids_kernel[(n,)](out)
    return out
