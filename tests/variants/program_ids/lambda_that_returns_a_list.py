"""The grid is a lambda, and gives a list."""

import torch
import triton
import triton.language as tl

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
def program_ids_kernel(out_ptr, n):
    pid = tl.program_id(0)
    tl.store(out_ptr + pid, pid)


def program_ids(n):
    out = torch.empty(n, dtype=torch.int32, device=DEVICE)
    program_ids_kernel[lambda meta: [meta["n"]]](out, n=n)
    return out
