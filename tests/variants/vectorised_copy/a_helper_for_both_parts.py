"""The same helper copies the whole part and the rest: one line, compiled in two ways."""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_below(x_ptr, out_ptr, offsets, end):
    x = tl.load(x_ptr + offsets, mask=offsets < end, other=0.0)
    tl.store(out_ptr + offsets, x, mask=offsets < end)


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    whole = n // 16 * 16
    copy_below(x_ptr, out_ptr, offsets, whole)
    if tl.program_id(0) == tl.num_programs(0) - 1:
        copy_below(x_ptr, out_ptr, whole + tl.arange(0, 16), n)


def vectorised_copy(x):
    out = torch.empty_like(x)
    n = x.numel()
    copy_kernel[(triton.cdiv(n, 2048),)](x, out, n, BLOCK_SIZE=2048, num_warps=8)
    return out
