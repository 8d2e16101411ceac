"""One program with a block that covers the whole vector, sized by `next_power_of_2`."""

import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, 2.0 * x, mask=mask)


def double(x):
    out = torch.empty_like(x)
    n = x.numel()
    double_kernel[(1,)](x, out, n, BLOCK_SIZE=triton.next_power_of_2(max(n, 1)))
    return out
