"""More programs than elements; those that have nothing to do do nothing."""

import torch
import triton
import triton.language as tl

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
def program_ids_kernel(out_ptr, n):
    pid = tl.program_id(0)
    if pid < n:
        tl.store(out_ptr + pid, pid)


def program_ids(n):
    out = torch.zeros(n, dtype=torch.int32, device=DEVICE)
    program_ids_kernel[(triton.next_power_of_2(n) + 3,)](out, n)
    return out
