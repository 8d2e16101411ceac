"""A program for each place looks through all values, and nobody meets anybody."""

import torch
import triton
import triton.language as tl


@triton.jit
def sum_at_kernel(index_ptr, values_ptr, out_ptr, m, BLOCK_SIZE: tl.constexpr):
    place = tl.program_id(axis=0)
    total = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for start in tl.range(0, m, BLOCK_SIZE):
        lanes = start + tl.arange(0, BLOCK_SIZE)
        index = tl.load(index_ptr + lanes, mask=lanes < m, other=-1)
        mine = index == place
        total += tl.load(values_ptr + lanes, mask=mine, other=0.0)
    tl.store(out_ptr + place, tl.sum(total, axis=0))


def case_lost_update(index, values, n):
    out = torch.empty(n, dtype=values.dtype, device=values.device)
    sum_at_kernel[(n,)](index, values, out, index.numel(), BLOCK_SIZE=128)
    return out
