"""More programs than elements, and a mask on a scalar store."""

import torch
import triton
import triton.language as tl

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
def program_ids_kernel(out_ptr, n):
    pid = tl.program_id(0)
    tl.store(out_ptr + pid, pid, mask=pid < n)


def program_ids(n):
    out = torch.empty((n,), dtype=torch.int32, device=DEVICE)
    program_ids_kernel[(n + 1,)](out, n, num_warps=1)
    return out
