"""The result is made by `torch.empty(n)`, which names no device.

Happens because it works on a machine without a GPU, where everything is on the CPU. With one, the kernel cannot reach it.
"""
# expect: cpu_tensor

import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.store(out_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask), mask=mask)


def double(x):
    n = x.numel()
    out = torch.empty(n)
    double_kernel[(triton.cdiv(n, 64),)](x, out, n, BLOCK_SIZE=64)
    return out
