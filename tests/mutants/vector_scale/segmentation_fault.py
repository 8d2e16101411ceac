"""Reads from an address that nobody owns, outside any kernel: the process dies on the spot.

Happens with pointers kept as plain numbers after their tensor is gone. In a notebook it would take the learner's whole
session with it.
"""
# expect: killed

import ctypes

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, a, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, a * x, mask=mask)


def vector_scale(x, a):
    out = torch.empty_like(x)
    n = x.numel()
    scale_kernel[(triton.cdiv(n, 256),)](x, out, a, n, BLOCK_SIZE=256)
    first = ctypes.cast(8, ctypes.POINTER(ctypes.c_float))
    out[0] = first[0]
    return out
