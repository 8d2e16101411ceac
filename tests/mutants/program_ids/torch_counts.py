"""Torch counts, and every program copies its number."""
# expect: torch_compute

import torch
import triton
import triton.language as tl

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
def copy_kernel(numbers_ptr, out_ptr):
    pid = tl.program_id(0)
    tl.store(out_ptr + pid, tl.load(numbers_ptr + pid))


def program_ids(n):
    out = torch.empty(n, dtype=torch.int32, device=DEVICE)
    copy_kernel[(n,)](torch.arange(n, dtype=torch.int32, device=DEVICE), out)
    return out
