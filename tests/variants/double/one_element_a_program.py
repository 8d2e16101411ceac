"""No blocks at all: each program doubles one element, through scalar pointers."""

import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr):
    pid = tl.program_id(axis=0)
    tl.store(out_ptr + pid, 2.0 * tl.load(x_ptr + pid))


def double(x):
    out = torch.empty_like(x)
    double_kernel[(x.numel(),)](x, out)
    return out
