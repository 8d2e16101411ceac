"""The grid is `(n + 1,)`: one program too many, and it writes behind the end.

Happens to those who round up by adding one, also where the division leaves nothing over.
"""
# expect: store_out_of_bounds
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
    program_ids_kernel[(n + 1,)](out)
    return out
