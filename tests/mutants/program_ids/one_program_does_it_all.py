"""One program writes the whole vector with `tl.arange`.

Happens where the result matters more than who writes it.
"""
# expect: not_as_asked

import torch
import triton
import triton.language as tl

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
def ids_kernel(out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    tl.store(out_ptr + offsets, offsets, mask=offsets < n)


def program_ids(n):
    out = torch.empty(n, dtype=torch.int32, device=DEVICE)
    if n:
        ids_kernel[(1,)](out, n, BLOCK_SIZE=triton.next_power_of_2(n))
    return out
