"""Whoever comes first, by a counter for each place, puts a value there; others may have added theirs by then."""
# expect: race
# hint: ticket

import torch
import triton
import triton.language as tl


@triton.jit
def add_at_kernel(index_ptr, values_ptr, out_ptr, arrivals_ptr, m):
    lane = tl.program_id(axis=0)
    index = tl.load(index_ptr + lane)
    value = tl.load(values_ptr + lane)
    if tl.atomic_add(arrivals_ptr + index, 1) == 0:
        tl.atomic_xchg(out_ptr + index, value)
    else:
        tl.atomic_add(out_ptr + index, value)


def case_lost_update(index, values, n):
    m = index.numel()
    out = torch.zeros(n, dtype=values.dtype, device=values.device)
    arrivals = torch.zeros(n, dtype=torch.int32, device=values.device)
    add_at_kernel[(m,)](index, values, out, arrivals, m)
    return out
