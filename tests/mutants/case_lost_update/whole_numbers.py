"""Whole numbers are added, each a value times 2²⁴: what is below one is lost."""
# expect: mismatch
# hint: a point that floats

import torch
import triton
import triton.language as tl


@triton.jit
def add_at_kernel(index_ptr, values_ptr, wholes_ptr, m, BLOCK_SIZE: tl.constexpr):
    lanes = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = lanes < m
    index = tl.load(index_ptr + lanes, mask=mask, other=0)
    value = tl.load(values_ptr + lanes, mask=mask, other=0.0)
    tl.atomic_add(wholes_ptr + index, (value.to(tl.float64) * 2**24).to(tl.int64), mask=mask)


@triton.jit
def divided_kernel(wholes_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    places = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    wholes = tl.load(wholes_ptr + places, mask=places < n, other=0)
    tl.store(out_ptr + places, (wholes.to(tl.float64) / 2**24).to(tl.float32), mask=places < n)


def case_lost_update(index, values, n):
    m = index.numel()
    wholes = torch.zeros(n, dtype=torch.int64, device=values.device)
    out = torch.empty(n, dtype=values.dtype, device=values.device)
    add_at_kernel[(triton.cdiv(m, 64),)](index, values, wholes, m, BLOCK_SIZE=64)
    divided_kernel[(triton.cdiv(n, 64),)](wholes, out, n, BLOCK_SIZE=64)
    return out
