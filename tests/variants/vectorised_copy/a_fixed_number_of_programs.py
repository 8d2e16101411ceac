"""Persistent programs with a pipelined loop: on newer GPUs the loads become asynchronous copies."""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    whole = n // 16 * 16
    for start in tl.range(tl.program_id(0) * BLOCK_SIZE, whole, tl.num_programs(0) * BLOCK_SIZE, num_stages=3):
        offsets = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_ptr + offsets, mask=offsets < whole, other=0.0)
        tl.store(out_ptr + offsets, x, mask=offsets < whole)
    if tl.program_id(0) == 0:
        rest = whole + tl.arange(0, 16)
        last = tl.load(x_ptr + rest, mask=rest < n, other=0.0)
        tl.store(out_ptr + rest, last, mask=rest < n)


def vectorised_copy(x):
    out = torch.empty_like(x)
    n = x.numel()
    copy_kernel[(4,)](x, out, n, BLOCK_SIZE=1024)
    return out
