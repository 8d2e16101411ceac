"""erf by a series for small arguments: right near 0, and NaN or far off elsewhere.

Happens to those who do not know `tl.erf`. The terms outgrow fp32, and cancel badly before that.
"""
# expect: nan, mismatch

import torch
import triton
import triton.language as tl


@triton.jit
def gelu_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    z = x * 0.7071067811865476
    z2 = z * z
    term = z
    total = z
    for k in range(1, 60):
        term = -term * z2 / k
        total += term / (2 * k + 1)
    tl.store(out_ptr + offsets, 0.5 * x * (1 + 1.1283791670955126 * total), mask=mask)


def gelu(x):
    out = torch.empty_like(x)
    n = x.numel()
    gelu_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK_SIZE=256)
    return out
